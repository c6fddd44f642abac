"""The probe names what is wrong with a library: real packages, broken in known ways, first on the ranks' path."""

import shutil
from types import SimpleNamespace

import pytest

from fixtures.plugin.stack_facts import stack_facts
from suites.state_space import libraries, verdicts
from suites.state_space.probing import Probe, pool_with

pytestmark = pytest.mark.selftest

_FAST, _BESIDE, _WITHOUT, _ = (name for name, *_ in verdicts.PATHS)
_SET = verdicts.EFFICIENT_OFF


class Shelf:
    """A pool of ranks that find packages in one folder first, and a fresh rank for each set of packages in it."""

    def __init__(self, python, folder, placeholder):
        self.packages = folder / "packages"
        # While the zygote imports the stack there is a package, so that no stand-in takes its place; it can't be imported.
        libraries.write(self.packages, {placeholder: libraries.SWITCHED_OFF})
        self.pool = pool_with(python, [self.packages], folder / "pool", 60.0)
        self.pool.run("fixtures.scenarios.probe:echo", 1, {})

    def probe(self, files) -> Probe:
        self.pool.discard(1)
        shutil.rmtree(self.packages)
        libraries.write(self.packages, files)
        return Probe(self.pool, quick=True, fresh=True)


def _shelf(request, tmp_path_factory, placeholder):
    if stack_facts(request.config.getoption("--stack-python")).gpus:
        pytest.skip("what is right in the broken packages runs on a CPU")
    shelf = Shelf(request.config.getoption("--stack-python"), tmp_path_factory.mktemp("shelf"), placeholder)
    yield shelf
    shelf.pool.close()


@pytest.fixture(scope="module")
def convolutions(request, tmp_path_factory):
    yield from _shelf(request, tmp_path_factory, "causal_conv1d/__init__.py")


@pytest.fixture(scope="module")
def mambas(request, tmp_path_factory):
    yield from _shelf(request, tmp_path_factory, "mamba_ssm/__init__.py")


@pytest.fixture(scope="module")
def absent(convolutions):
    """The layer with causal-conv1d switched off."""
    probe = convolutions.probe({"causal_conv1d/__init__.py": libraries.SWITCHED_OFF})
    assert probe.libraries()["stack"]["convolution"] is False
    return probe.mixer()


def _judged(probe, absent):
    facts = probe.libraries()
    rows = verdicts.table(facts, probe.convolution(), probe.scan(), probe.mixer(), absent)
    words = {row["library or path"]: row["verdict"] for row in rows}
    return SimpleNamespace(facts=facts, words=words, overall=verdicts.overall(rows))


# What the verdict on the library says.
CONVOLUTIONS = {
    "import error": "importing causal_conv1d raises ImportError: libcudart.so.12: cannot open shared object file",
    "missing symbol": "causal_conv1d lacks the symbol _ZN3c104cuda9SetDeviceEab: its extension is built against another torch",
    "wrong result": "wrong result: result 0 is off by",
    "not a number": "not finite: result 0",
    "wrong gradient": "wrong gradient: gradient of ",
    "refuses": "raises RuntimeError: no kernel image is available for execution on the device",
    "ends the process": "importing it ends the process",
}


@pytest.mark.parametrize("fake", CONVOLUTIONS)
def test_broken_convolution_is_named_and_the_layer_usable_without(convolutions, absent, fake):
    found = _judged(convolutions.probe(libraries.CAUSAL_CONV1D[fake]), absent)
    verdict = found.words["causal-conv1d"]
    assert verdict.startswith(f"unusable: {CONVOLUTIONS[fake]}")
    assert found.words[_FAST] == found.words[_BESIDE] == f"unusable: causal-conv1d: {verdict.removeprefix('unusable: ')}"
    assert found.words[_WITHOUT].startswith("usable") or fake == "ends the process"
    if fake != "ends the process":
        assert found.words["mamba-ssm"] == verdicts.STAND_IN
        expected = f"usable only without causal-conv1d: set {_SET} and pip uninstall causal-conv1d (causal-conv1d: "
        assert found.overall.usable and found.overall.words.startswith(expected)


def test_old_convolution_is_usable_and_said_to_be_old(convolutions, absent):
    found = _judged(convolutions.probe(libraries.CAUSAL_CONV1D["too old"]), absent)
    assert found.words["causal-conv1d"] == "usable, but it is version 1.1.0 where megatron-core asks for ~=1.5"
    assert found.facts["stack"]["packed training"] == "causal_conv1d >= 1.4.0 is required"
    assert found.words[_FAST].startswith("usable") and found.overall.words.startswith("fast path usable")


def test_convolution_that_refuses_strides_by_name_is_usable(convolutions, absent):
    probe = convolutions.probe(libraries.CAUSAL_CONV1D["stride rule"])
    assert "multiples of 8" in probe.convolution()["stride-rule"]["raised"]
    found = _judged(probe, absent)
    assert found.words["causal-conv1d"] == "usable"
    assert found.words[_FAST].startswith("usable") and found.words[_BESIDE].startswith("usable")


MAMBAS = {
    "import error": "importing mamba_ssm raises ImportError: libcudart.so.12: cannot open shared object file",
    "missing symbol": "mamba_ssm lacks the symbol _ZN3c104cuda9SetDeviceEab: its extension is built against another torch",
    "wrong result": "wrong result: result 0 is off by",
    "not a number": "not finite: result 0",
    "wrong gradient": "wrong gradient: gradient of ",
}


@pytest.mark.parametrize("fake", MAMBAS)
def test_broken_state_space_library_is_named(mambas, fake):
    found = _judged(mambas.probe(libraries.MAMBA_SSM[fake]), None)
    verdict = found.words["mamba-ssm"]
    assert verdict.startswith(f"unusable: {MAMBAS[fake]}")
    assert found.words["causal-conv1d"] == verdicts.STAND_IN
    assert found.words[_FAST].startswith(f"unusable: mamba-ssm: {MAMBAS[fake]}")
    if fake == "wrong gradient":  # planted in the memory-efficient path alone
        assert found.words[_BESIDE] == "usable"
        assert found.overall.words.startswith(f"usable only off the memory-efficient path: set {_SET} (mamba-ssm: ")
    else:
        assert found.words[_BESIDE].startswith(f"unusable: mamba-ssm: {MAMBAS[fake]}")
        assert not found.overall.usable
        assert found.overall.words.startswith("unusable: no path of the layer is right (mamba-ssm: ")


def test_the_stack_says_that_a_broken_library_is_not_installed(mambas):
    # What makes the probe worth having: megatron-core takes every ImportError for an absent library.
    probe = mambas.probe(libraries.MAMBA_SSM["missing symbol"])
    assert probe.libraries()["stack"]["scan"] is False
    raised = probe.mixer()["float32"]["chunk scan"]["raised"]
    assert raised.startswith("ImportError: MambaSSM is not installed")
