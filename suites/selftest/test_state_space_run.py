"""A whole run of the probe upon a broken library: its checks fail, its table says what to set, and the report has it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.plugin.stack_facts import stack_facts
from suites.state_space import libraries, verdicts

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(request, tmp_path_factory):
    """A run upon a causal-conv1d whose gradients are one per cent too large."""
    python = request.config.getoption("--stack-python")
    if stack_facts(python).gpus:
        pytest.skip("what is right in the broken package runs on a CPU")
    folder = tmp_path_factory.mktemp("broken")
    libraries.write(folder / "packages", libraries.CAUSAL_CONV1D["wrong gradient"])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    chosen = "float32 or verdict or usable or library or version or setting"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "state_space", "-k", chosen, f"--stack-python={python}"]
    command += [f"--reports-dir={folder / 'reports'}", f"--junitxml={folder / 'junit.xml'}"]
    environment["PYTHONPATH"] = str(folder / "packages")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400)
    assert (folder / "junit.xml").exists(), done.stdout + done.stderr
    return done, {case.get("name"): case for case in ElementTree.parse(folder / "junit.xml").iter("testcase")}


def test_run_fails_and_says_what_to_set(run):
    done, _ = run
    assert done.returncode == 1, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith(verdicts.ALL))
    said = f"usable only without causal-conv1d: set {verdicts.EFFICIENT_OFF} and pip uninstall causal-conv1d"
    assert said in line and "wrong gradient" in line


def test_checks_that_ran_through_the_library_fail_and_no_others(run):
    _, cases = run
    failed = {name for name, case in cases.items() if case.find("failure") is not None or case.find("error") is not None}
    backward = {name for name in cases if name.endswith("backward]")}
    through = {name for name in backward if name.startswith("test_convolution_agrees")}
    through |= {name for name in backward if name.startswith("test_layer_agrees[with causal-conv1d")}
    through |= {name for name in backward if name.startswith("test_state_space_agrees[memory-efficient-path")}
    assert len(through) > 10
    assert failed == through


def test_report_has_the_table(run):
    _, cases = run
    rows = [
        json.loads(entry.get("value"))
        for case in cases.values()
        for entry in case.iter("property")
        if entry.get("name") == "table:state space paths"
    ]
    assert [row["library or path"] for row in rows] == [
        "causal-conv1d", "mamba-ssm", *(name for name, *_ in verdicts.PATHS), verdicts.ALL
    ]  # fmt: skip
    assert rows[0]["verdict"].startswith("unusable: wrong gradient: gradient of ")
    assert rows[1]["verdict"] == verdicts.STAND_IN
