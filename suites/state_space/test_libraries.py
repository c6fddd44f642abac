"""Each library is there, loads, and has the version that the stack asks for."""

import pytest

from suites.state_space import verdicts

LIBRARIES = ("causal-conv1d", "mamba-ssm")


@pytest.fixture(params=LIBRARIES)
def found(request, probe, record_property):
    """The facts of one library; ``found.name`` is its name on the package index."""
    facts = probe.libraries()
    if "died" in facts:
        pytest.fail(verdicts.library(request.param, facts, {}).words, pytrace=False)
    row = facts[request.param]
    record_property("library", request.param)
    record_property("library_version", str(row["version"]))
    record_property("library_is_stand_in", str(row["stand_in"]).lower())
    return request.param, facts


def test_library_is_there(found, check):
    name, facts = found
    check(not facts[name]["installed"] and f"{name} is not installed where the ranks run; pip install {name}")


def test_library_loads(found, check):
    name, facts = found
    if not facts[name]["installed"]:
        pytest.skip(f"{name} is not installed")
    check(facts[name]["error"] and f"{name} is {verdicts.library(name, facts, {}).words}")


def test_version_is_what_the_stack_asks_for(found, check):
    name, facts = found
    if not facts[name]["asked"]:
        pytest.skip(f"{name} is not installed, or megatron-core's metadata do not ask for it")
    wrong = [row["specifier"] for row in facts[name]["asked"] if not row["ok"]]
    check(wrong and f"{name} is version {facts[name]['version']}; megatron-core asks for {', '.join(wrong)}")


def test_stack_takes_a_library_that_loads(found, check):
    name, facts = found
    stack = facts["stack"]
    taken = stack["error"] is None and stack["convolution" if name == "causal-conv1d" else "scan"]
    there = facts[name]["installed"] and facts[name]["error"] is None
    check(taken != there and f"{name} {'loads' if there else 'does not load'}, but megatron-core takes it for {taken}: {stack}")


def test_stack_accepts_the_versions_for_packed_training(probe, check):
    facts = probe.libraries()
    if "died" in facts or facts["stack"]["error"]:
        pytest.fail(str(facts.get("died") or facts["stack"]["error"]), pytrace=False)
    if not all(facts[name]["installed"] and facts[name]["error"] is None for name in LIBRARIES):
        pytest.skip("not both libraries load")
    check(facts["stack"]["packed training"] and f"megatron-core refuses packed sequences: {facts['stack']['packed training']}")


def test_stack_has_the_setting_that_verdicts_name(probe, check):
    stack = probe.libraries()["stack"]
    named = stack["setting"] and stack["default"] is True and "--disable-mamba-mem-eff-path" in stack["options"]
    check(not named and f"TransformerConfig has no use_mamba_mem_eff_path with --disable-mamba-mem-eff-path: {stack}")
