"""Every check has words of its own, and --explain prints them without starting anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.plugin.explain import explain, explanations

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]
# Folders of tests of Meshgate itself, which have no checks.
OURS = ("selftest", "faults")


def checks_of(suite: str) -> set[str]:
    """Return the checks of a suite: its test functions that take ``check``."""
    files = (ROOT / "suites" / suite).glob("test_*.py")
    found = (re.findall(r"^def test_(\w+)\(([^)]*)\)", file.read_text(), re.MULTILINE) for file in files)
    return {name for rows in found for name, arguments in rows if re.search(r"\bcheck\b", arguments)}


@pytest.mark.parametrize(
    "suite", sorted(path.parent.name for path in ROOT.glob("suites/*/conftest.py") if path.parent.name not in OURS)
)
def test_every_check_is_explained_and_nothing_else(suite):
    written = {name for name, words in explanations().items() if words.suite == suite}
    assert written == checks_of(suite)


def test_words_are_sentences():
    for name, words in explanations().items():
        for text in (words.claim, words.why, words.do):
            assert text[0].isupper(), name
            assert text[-1] == ".", name


def test_one_check():
    lines = explain("gradient_sync").splitlines()
    assert lines[0] == "gradient_sync (suites/training_step)"
    assert lines[2] == "claims:  Replicas of a gradient have the same bits on every axis that replicates it."
    assert lines[3].startswith("matters: ")
    assert lines[4].startswith("to do:   ")
    assert explain("test_gradient_sync").splitlines() == lines


def test_all_checks_are_listed():
    names = [line.split()[0] for line in explain("all").splitlines()]
    assert names == list(explanations())
    assert {"gradients", "routing", "weights_restored", "parameter_bytes", "library_loads"} <= set(names)


@pytest.mark.parametrize(
    ("argument", "code", "words"),
    [
        ("weights", 0, "claims:  After one clipped optimizer step every weight is that of one rank."),
        (
            "gradient_sink",
            4,
            "ERROR: --explain gradient_sink: no such check; did you mean gradient_sync? --explain all lists them",
        ),
    ],
)
def test_from_the_command_line(tmp_path, argument, code, words):
    command = [sys.executable, "-m", "pytest", "--explain", argument, f"--reports-dir={tmp_path}", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
