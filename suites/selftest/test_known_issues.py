"""Known issues are read strictly, match exactly where they say, and are strict expected failures in a run."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.case import Case
from fixtures.known_issues import Situation, UnusableEntry, matching, read_folder
from fixtures.layout import Layout
from fixtures.plugin import known
from fixtures.plugin.known import words

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]

ENTRY = """
[[issue]]
id = "one"
title = "norms are not summed"
checks = ["gradients"]
expect = "finding"
text = "disagree"
reference = "none"
remedy = "use tp1"
[issue.where]
stack = "megatron-core"
version = ">=0.16,<0.17"
"""

SITUATION = Situation(
    "gradients",
    Case("megatron-core", "llama", Layout.parse("tp2pp2cp2dp2"), "float64", "adam", "gpt", 1234),
    {"megatron-core": "0.16.1", "torch": "2.13.0+cpu"},
    "cpu",
)


@pytest.fixture
def entries(tmp_path):
    """``entries(text)`` writes one file and reads the folder."""

    def read(text: str):
        (tmp_path / "issues.toml").write_text(text)
        return read_folder(tmp_path, words())

    return read


def test_our_own_entries_are_usable(pytestconfig):
    from fixtures.plugin.known import entries_of

    assert all(entry.version for entry in entries_of(pytestconfig))


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ("", True),
        ('architecture = ["llama", "gpt-tied"]', True),
        ('architecture = "gpt-tied"', False),
        ('device = "gpu"', False),
        ('libraries = { torch = ">=2.13" }', True),
        ('libraries = { torch = "<2.13" }', False),
        ('libraries = { deepspeed = ">0" }', False),
        ('layout = { tp = ">1", vpp = "==1" }', True),
        ('layout = { tp = ">2" }', False),
        ('layout = { tp = "==pp", world = ">tp" }', True),
        ('layout = { etp = "<tp" }', False),
        ('layout = { world = "==16", etp = "==2" }', True),
        ('optimizer = "distributed"', False),
        ('id = "dp2-float64"', True),
        ('id = "dp2-float32"', False),
        ('changes = "tp"', False),
    ],
)
def test_an_entry_holds_where_all_conditions_do(entries, more, holds):
    found = matching(entries(ENTRY + more), SITUATION)
    assert [entry.id for entry in found] == (["one"] if holds else [])


@pytest.mark.parametrize(
    ("version", "holds"), [("0.16.0", True), ("0.16.1rc2", True), ("0.16.1+local", True), ("0.17.0", False), ("0.15.9", False)]
)
def test_an_entry_holds_in_its_versions(entries, version, holds):
    situation = replace(SITUATION, versions={"megatron-core": version})
    assert bool(matching(entries(ENTRY), situation)) is holds


@pytest.mark.parametrize(
    ("target", "changes", "holds"),
    [
        ("tp2pp2cp2dp2ep2", '"ep>1"', True),
        ("tp4dp4", '"ep>1"', False),
        ("tp4dp4", '"tp"', True),
        ("tp2pp2cp2", '"tp"', False),
        ("tp2pp2cp2", '["tp", "dp"]', True),
        ("tp2pp4cp2", '"pp"', True),
    ],
)
def test_an_entry_holds_where_an_axis_changes(entries, target, changes, holds):
    situation = replace(SITUATION, target=Layout.parse(target))
    assert bool(matching(entries(ENTRY + f"changes = {changes}"), situation)) is holds


def test_an_entry_holds_for_its_checks_only(entries):
    assert matching(entries(ENTRY), replace(SITUATION, check="weights")) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("remedy", "remdy", "issues.toml, issue one: key 'remdy' is unknown; did you mean 'remedy'?"),
        ("[[issue]]", "[[isue]]", "issues.toml: key 'isue' is unknown; did you mean 'issue'?"),
        ('reference = "none"\n', "", "issues.toml, issue one: reference is missing; an issue has id, title"),
        ('"finding"', '"findings"', "issues.toml, issue one: expect: 'findings' matches nothing; did you mean 'finding'?"),
        ('"gradients"', '"gradient"', "issues.toml, issue one: checks: 'gradient' matches nothing; did you mean 'gradients'?"),
        (">=0.16,<0.17", "0.16", "issues.toml, issue one: version: '0.16' is not a version range; write one such as"),
        ('">=0.16,<0.17"', '""', "issues.toml, issue one: version: the version range is empty"),
        ('version = ">=0.16,<0.17"', "", "issues.toml, issue one: where needs stack and version"),
        ('stack = "megatron-core"', 'stack = "megatron"', "issue one: stack: 'megatron' matches nothing; did you mean"),
        (
            'stack = "m',
            'layout = { tp = "2" }\nstack = "m',
            "layout: tp = '2' is not a range; write an operator and a number or an axis",
        ),
        ('stack = "m', 'layout = { tpp = ">2" }\nstack = "m', "layout: key 'tpp' is unknown; did you mean 'tp'?"),
        ('stack = "m', 'architecture = "lama"\nstack = "m', "architecture: 'lama' matches nothing; did you mean 'llama'?"),
        ('stack = "m', 'libraries = { torch = "x" }\nstack = "m', "libraries: torch: 'x' is not a version range"),
        ('title = "norms are not summed"', 'title = ""', "issue one: title must be text, and not empty"),
        ('text = "disagree"', "text = []", "issue one: text must be text, and not empty, or a list of texts"),
        ("[[issue]]", "[[issue", "issues.toml: not a TOML file: "),
    ],
)
def test_a_slip_is_an_error_that_names_it(entries, old, new, message):
    with pytest.raises(UnusableEntry) as caught:
        entries(ENTRY.replace(old, new, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_id_twice_is_an_error(entries):
    with pytest.raises(UnusableEntry, match=r"issue one: the id is also in issues\.toml"):
        entries(ENTRY + ENTRY)


def test_only_what_an_entry_expects_is_known(entries):
    (entry,) = entries(ENTRY)
    item = SimpleNamespace(stash={known._EXPECTED: [entry]})
    assert known.is_known(item, f"gradients: {entry.text[0]}")
    assert not known.is_known(item, "gradients: another thing")
    assert not known.is_known(SimpleNamespace(stash={}), f"gradients: {entry.text[0]}")


CONFTEST = """
import pytest
from fixtures.case import Case
from fixtures.layout import Layout

pytest_plugins = ["fixtures.plugin.options", "fixtures.plugin.known", "reports.pytest_plugin"]

def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        case = Case("megatron-core", "llama", Layout.parse("tp2"), "float64", "adam", "gpt", 1)
        metafunc.parametrize("case", [case], ids=[case.id])

@pytest.fixture
def evidence(case, record_property):
    record_property("case", case.id)
    record_property("layout", str(case.layout))
"""

RUN = """
import pytest
def test_gradients(case, evidence):
    {body}
def test_weights(case, evidence):
    pass
"""


def _run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest with our plugins on the tests of a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reports-dir=out", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("finding", "expect", "code", "words"),
    [
        ("replicas disagree along tp", "finding", 0, "verdict: ACCEPT"),
        ("replicas disagree along tp", "refusal", 0, "1 passed, 1 known"),
        (None, "finding", 1, "known issue one is fixed: norms are not summed"),
        ("something else", "finding", 1, "this is not the known issue here: one expects finding with 'disagree'"),
        ("the case did not complete: they disagree", "finding", 1, "this is not the known issue here"),
        ("the case did not complete: they disagree", "crash", 0, "verdict: ACCEPT"),
        ("replicas disagree along tp", "crash", 1, "this is not the known issue here: one expects crash"),
        # Checks after the first one of a case that crashed are told its first line only.
        ("the case did not complete: no\nthey disagree", "crash", 1, "this is not the known issue here"),
    ],
)
def test_known_issues_in_a_run(tmp_path, finding, expect, code, words):
    entry = ENTRY.replace('"finding"', f'"{expect}"').replace(">=0.16,<0.17", f"=={metadata.version('megatron-core')}")
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "own.toml").write_text(entry)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    body = "pass" if finding is None else f"pytest.fail({finding!r}, pytrace=False)"
    (tmp_path / "test_it.py").write_text(RUN.format(body=body))
    found, output = _run(tmp_path, "--known-issues=known")
    assert found == code, output
    assert words in output


def test_an_unusable_folder_starts_nothing(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(RUN.format(body="pass"))
    code, output = _run(tmp_path, "--known-issues=nowhere")
    assert code == 4
    assert "ERROR: --known-issues: nowhere: no such folder; give a folder with TOML files" in output
