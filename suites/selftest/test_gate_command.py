"""The gate's command: exit codes, policies, parts, and files that are damaged, hostile, foreign or large."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.gate.__main__ import main
from reports.gate.policy import Limits, Policy, Reject, UnusablePolicy, read_policy
from suites.selftest.reports_strategies import result, write

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good.xml", [result("tp2", "loss", "passed"), result("tp2", "norm", "passed")])


@pytest.fixture
def bad(tmp_path):
    return write(tmp_path / "bad.xml", [result("tp2", "loss", "passed"), result("tp2", "norm", "failed")])


def _gate(baseline: Path, candidate: Path, *more: object) -> int:
    return main(["--baseline", str(baseline), "--candidate", str(candidate), *map(str, more)])


def test_exit_codes(good, bad, capsys):
    assert _gate(good, good) == 0
    assert capsys.readouterr().out.startswith("verdict: ACCEPT - no worse than the baseline: 2 passed in both\n")
    assert _gate(good, bad) == 1
    assert capsys.readouterr().out.startswith("verdict: REJECT - 1 new failure\n")
    assert _gate(bad, good) == 0
    assert "\nfixed: 1\n  norm, llama-tp2-float64-adam: failed -> passed: why\n" in capsys.readouterr().out


def test_files_are_written(good, bad, tmp_path, capsys):
    assert _gate(good, bad, "--markdown", tmp_path / "gate.md") == 1
    assert (tmp_path / "gate.md").read_text().startswith("# Meshgate gate: REJECT\n")
    capsys.readouterr()
    assert _gate(good, bad, "--markdown", tmp_path / "no" / "gate.md") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"reports.gate: {tmp_path}/no/gate.md: can't be written: No such file or directory\n"


def test_a_folder_and_parts(good, bad, tmp_path, capsys):
    one = write(tmp_path / "one" / "junit.xml", [result("tp2", "loss", "passed")])
    two = write(tmp_path / "two" / "junit.xml", [result("tp2", "norm", "passed")])
    assert _gate(good, one) == 1
    assert _gate(good, one.parent, "--candidate", two) == 0
    assert _gate(good, one.parent, "--candidate", two.parent, "--candidate", one) == 0
    capsys.readouterr()
    assert _gate(good, one.parent, "--candidate", bad) == 1
    assert _gate(good, good, "--candidate", bad) == 1
    assert "note: candidate: test_norm[llama-tp2-float64-adam]: passed, failed in different results; the worst counts" in (
        capsys.readouterr().out
    )
    assert _gate(good, tmp_path) == 2
    assert capsys.readouterr().err == (
        f"reports.gate: {tmp_path}: the folder has no junit.xml; name the file, or the folder of a run that ended\n"
    )


BOMB = '<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file"),
        ("", "the file is empty"),
        (" \n" * 100_000, "the file is empty"),
        ("<testsuites>", "not a JUnit report: no element found"),
        ('<testsuite><testcase name="a"></testsuite>', "not a JUnit report: mismatched tag"),
        ('<testsuite><testcase name="&xxe;"/></testsuite>', "not a JUnit report: undefined entity"),
        (BOMB, "it has a DOCTYPE"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>', "a DOCTYPE"),
        ("<coverage/>", "its first element is <coverage>"),
        ("<testsuites/>", "there is no test in the baseline: nothing to compare"),
        ('<?xml version="1.0" encoding="no-such"?><testsuite/>', "not a JUnit report: unknown encoding"),
        ("<testsuite>" * 60_000, "nested more than 100 deep"),
        ("<testsuite><testcase>" + "<a>" * 60_000, "nested more than 100 deep"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_unusable_files_are_one_line_and_exit_code_2(good, tmp_path, capsys, text, words):
    path = tmp_path / "it.xml"
    if text is not None:
        path.write_text(text)
    assert _gate(path, good) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"reports.gate: {path}: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1


@given(cut=st.integers(0, 700), noise=st.binary(max_size=3))
def test_a_file_cut_anywhere_is_refused(tmp_path_factory, cut, noise):
    base = tmp_path_factory.getbasetemp()
    whole = write(base / "whole.xml", [result("tp2", "loss", "passed"), result("tp2", "norm", "failed")])
    data = whole.read_bytes()
    cut = min(cut, len(data) - 1)
    damaged = base / "damaged.xml"
    damaged.write_bytes(data[:cut] + noise)
    complete = (data[:cut] + noise).strip() == data
    assert _gate(whole, damaged) == (0 if complete else 2)


def test_files_of_other_tools(tmp_path, capsys):
    """Names and outcomes are enough: no properties, no class names, times that are none, a namespace."""
    foreign = tmp_path / "foreign.xml"
    foreign.write_text(
        '<testsuite xmlns="urn:x" name="ctest" tests="3"><testcase name="a" time="soon"/><testcase name="b" time="0.1">'
        "<failure>broken</failure></testcase>"
        '<testcase classname="C" name="b"><system-out>noise</system-out></testcase></testsuite>'
    )
    assert _gate(foreign, foreign) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "verdict: ACCEPT - no worse than the baseline: 2 passed in both, 1 still failing",
        "  baseline:  3 tests, 0 cases",
        "  candidate: 3 tests, 0 cases",
    ]


def test_two_unrelated_files_are_noticed(good, tmp_path, capsys):
    other = write(tmp_path / "other.xml", [result("pp4", "loss", "passed")])
    assert _gate(good, other) == 1
    assert "note: no test is in both runs: were they made with the same options?" in capsys.readouterr().out


def test_how_one_of_several_suites_ended_is_not_hidden_by_another(tmp_path):
    """As where another tool put two of our files into one."""
    case = '<testcase name="{}"><properties><property name="case" value="x"/></properties></testcase>'
    suite = '<testsuite><properties><property name="selected" value="{}"/><property name="exit_status" value="{}"/></properties>{}</testsuite>'  # noqa: E501
    path = tmp_path / "two.xml"
    path.write_text(f"<testsuites>{suite.format(1, 0, case.format('a'))}{suite.format(1, 0, case.format('b'))}</testsuites>")
    assert _gate(path, path) == 0
    for first, second in ((suite.format(3, 0, case.format("a")), suite.format(1, 0, case.format("b"))),
                          (suite.format(1, 2, case.format("a")), suite.format(1, 0, case.format("b")))):  # fmt: skip
        (tmp_path / "cut.xml").write_text(f"<testsuites>{first}{second}</testsuites>")
        assert _gate(path, tmp_path / "cut.xml") == 1


@pytest.fixture
def policy(tmp_path):
    def write_policy(text: str | bytes) -> Path:
        path = tmp_path / "policy.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_policy


def test_a_policy_changes_what_rejects(good, tmp_path, policy):
    fewer = write(tmp_path / "fewer.xml", [result("tp2", "loss", "passed")])
    assert _gate(good, fewer) == 1
    assert _gate(good, fewer, "--policy", policy("[reject]\nmissing = false\n")) == 0


def test_a_policy_is_read_as_written(policy):
    read = read_policy(policy("[reject]\nslower = true\nmissing = false\n[limits]\ntime_ratio = 3\nmemory_floor_mib = 0.5\n"))
    assert read == Policy(Reject(slower=True, missing=False), Limits(time_ratio=3, memory_floor_mib=0.5))
    assert read_policy(policy("")) == Policy()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[reject]\nmising = true", "[reject] mising: no such key; did you mean missing?"),
        ("[limits]\ntime_ration = 2", "[limits] time_ration: no such key; did you mean time_ratio?"),
        ("[limit]\ntime_ratio = 2", "limit: no such table; did you mean limits?"),
        ("missing = false", "missing: no such table; known are reject, limits"),
        ("[reject]\nzzz = true", "[reject] zzz: no such key; known are beyond_tolerance, "),
        ("[reject]\nnew_failures = false", "new failures and incomplete candidates always reject"),
        ("[reject]\nmissing = 'no'", "[reject] missing must be true or false, not 'no'"),
        ("[reject]\nmissing = 0", "[reject] missing must be true or false, not 0"),
        ("[limits]\ntime_ratio = true", "[limits] time_ratio must be a number, 1 or larger, not True"),
        ("[limits]\ntime_ratio = 0.5", "[limits] time_ratio must be a number, 1 or larger, not 0.5"),
        ("[limits]\ntime_floor_seconds = -1", "time_floor_seconds must be a number, 0 or larger, not -1"),
        ("[limits]\nerror_ratio = nan", "error_ratio must be a number, 1 or larger, not nan"),
        ("reject = 1", "reject must be a table: write [reject]"),
        ("[reject", "not a TOML file: "),
        (b"\xff\xfe", "not a TOML file: "),
    ],
)
def test_a_bad_policy_is_one_line_and_exit_code_2(good, policy, capsys, text, words):
    path = policy(text)
    assert _gate(good, good, "--policy", path) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"reports.gate: {path}: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_no_policy_where_one_is_named(good, tmp_path, capsys):
    assert _gate(good, good, "--policy", tmp_path / "none.toml") == 2
    assert "none.toml: no such file; leave --policy out for the defaults" in capsys.readouterr().err
    with pytest.raises(UnusablePolicy, match="Is a directory"):
        read_policy(tmp_path)


def test_wrong_arguments_are_exit_code_2(good):
    for arguments in ([], ["--baseline", str(good)], ["--baseline", str(good), "--candidate", str(good), "--polici", "x"]):
        with pytest.raises(SystemExit) as error:
            main(arguments)
        assert error.value.code == 2


def test_100_000_tests_in_seconds_and_bounded_memory(tmp_path):
    properties = "".join(f'<property name="p{number}" value="{number}"/>' for number in range(8))
    noise = "noise " * 20
    body = "".join(
        f'<testcase classname="suites.a" name="test_loss[case{number}]" time="0.1"><properties><property name="case" '
        f'value="case{number}"/>{properties}<property name="measured" value="0.{number}"/>'
        f'<property name="tolerance" value="1.0"/></properties><system-out>{noise}</system-out></testcase>'
        for number in range(100_000)
    )
    path = tmp_path / "large.xml"
    path.write_text(f'<testsuites><testsuite name="s">{body}</testsuite></testsuites>')
    del body
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-m", "reports.gate", "--baseline", str(path), "--candidate", str(path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)),
    )  # fmt: skip
    assert done.stdout.startswith("verdict: ACCEPT - no worse than the baseline: 100000 passed in both\n"), done.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began < 60


def test_the_documented_policy_is_the_default(policy):
    text = (ROOT / "docs" / "gate.md").read_text()
    block = text.split("```toml\n")[1].split("```")[0]
    assert read_policy(policy(block)) == Policy()
    assert all(
        re.search(rf"^{name} = ", block, re.MULTILINE) for kind in (Reject, Limits) for name in kind.__dataclass_fields__
    )
