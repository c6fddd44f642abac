"""What a run leaves behind and says at its end, whatever becomes of it. Runs pytest on tiny tests; needs no stack."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from reports import table
from reports.junit import read
from suites.selftest.reports_schema import violations

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]

CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--reports-dir", default="out")

@pytest.fixture(params=["tp2", "pp2dp2"])
def evidence(request, record_property):
    case = f"llama-{request.param}-float64-adam"
    stated = dict(case=case, architecture="llama", layout=request.param, precision="float64", optimizer="adam",
                  stack="megatron-core", stack_version="0.16.1", torch="2.13.0", seed=7, seconds="1.5")
    for name, value in stated.items():
        record_property(name, value)

@pytest.fixture
def check(request, record_property):
    record_property("check", request.node.originalname.removeprefix("test_"))
    def numbers(measured, tolerance):
        record_property("measured", repr(measured))
        record_property("tolerance", repr(tolerance))
    return numbers
"""

GOOD = """
def test_loss(evidence, check):
    check(1e-9, 4e-8)
def test_gradients(evidence, check):
    check(3e-9, 4e-9)
"""


class Outcome:
    """One finished pytest process."""

    def __init__(self, folder: Path, code: int, output: str) -> None:
        self.code, self.output = code, output
        self.latest = folder / "out" / "latest"

    @property
    def verdict(self) -> str:
        """The last words, without the paths."""
        lines = [line for line in self.output.splitlines() if line.startswith("verdict: ")]
        assert len(lines) == 1, self.output
        return lines[0].removeprefix("verdict: ")

    @property
    def summary(self) -> str:
        return (self.latest / "summary.md").read_text()


@pytest.fixture
def start(tmp_path):
    """``start(source, *arguments)`` begins pytest on a file of tests, in a folder of its own."""

    def begin(source: str, *arguments: str, conftest: str = CONFTEST, cwd: Path = tmp_path) -> subprocess.Popen[str]:
        (tmp_path / "conftest.py").write_text(conftest)
        (tmp_path / "pytest.ini").write_text("[pytest]\njunit_family = xunit1\n")
        (tmp_path / "test_it.py").write_text(source)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        plugins = [
            "-p",
            "reports.pytest_plugin",
            "-p",
            "no:cacheprovider",
            *(["-p", "xdist"] if "-n" in arguments else []),
        ]
        command = [sys.executable, "-m", "pytest", *plugins, *arguments]
        return subprocess.Popen(command, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    return begin


@pytest.fixture
def run(start, tmp_path):
    """``run(source, *arguments)`` runs pytest to its end."""

    def finish(source: str, *arguments: str, **more: Any) -> Outcome:
        process = start(source, *arguments, **more)
        output, _ = process.communicate(timeout=60)
        return Outcome(tmp_path, process.returncode, output)

    return finish


def test_all_checks_passed(run):
    done = run(GOOD)
    assert done.code == 0
    assert done.verdict == "ACCEPT - 2 checks of 2 cases: 4 passed; largest error 0.75 of its tolerance"
    assert re.search(
        r"         loss   gradients  err/tol\n"
        r"llama float64 adam\n"
        r"  tp2     ok     ok         0.75\n"
        r"  pp2dp2  ok     ok         0.75\n",
        done.output,
    )
    # The very last lines, after pytest's own.
    count, verdict, paths = done.output.strip().splitlines()[-3:]
    assert "4 passed" in count
    assert verdict.startswith("verdict: ACCEPT")
    assert re.fullmatch(r"reports: (out/\d{8}T\d{6}Z-[0-9a-f]{6}/)junit\.xml \1summary\.md \1report\.html", paths)
    assert done.summary.startswith("# Meshgate: ACCEPT\n")
    assert "| tp2 | ok | ok | 0.75 | 1.5 |  |" in done.summary


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_properties(run, workers):
    done = run(GOOD, *workers)
    result = read(done.latest / "junit.xml")
    assert {name: result.properties[name] for name in ("stack", "stack_version", "torch", "seed", "selected")} == {
        "stack": "megatron-core",
        "stack_version": "0.16.1",
        "torch": "2.13.0",
        "seed": "7",
        "selected": "4",
    }
    tests = {test.name: test for test in result.results}
    assert sorted(tests) == [
        "test_it.test_gradients[pp2dp2]",
        "test_it.test_gradients[tp2]",
        "test_it.test_loss[pp2dp2]",
        "test_it.test_loss[tp2]",
    ]
    assert tests["test_it.test_loss[pp2dp2]"].properties == {
        "stack": "megatron-core",
        "stack_version": "0.16.1",
        "torch": "2.13.0",
        "seed": "7",
        "host": result.properties["host"],
        "case": "llama-pp2dp2-float64-adam",
        "architecture": "llama",
        "layout": "pp2dp2",
        "precision": "float64",
        "optimizer": "adam",
        "seconds": "1.5",
        "check": "loss",
        "measured": "1e-09",
        "tolerance": "4e-08",
    }
    assert done.verdict == "ACCEPT - 2 checks of 2 cases: 4 passed; largest error 0.75 of its tolerance"
    # What all tests share is written once, not with each of them.
    assert (done.latest / "junit.xml").read_text().count('name="stack_version"') == 1


def test_a_test_that_differs_keeps_its_own_value(run):
    done = run(
        "def test_a(record_property): record_property('torch', 1)\ndef test_b(record_property): record_property('torch', 2)\n"
    )
    result = read(done.latest / "junit.xml")
    assert result.properties["torch"] == "1"
    assert [test.properties["torch"] for test in result.results] == ["1", "2"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_failed_check(run, workers):
    done = run(
        GOOD + "    import pytest\n    pytest.fail('gradients: wrong on rank 3\\n  worst: x', pytrace=False)\n",
        *workers,
    )
    assert done.code == 1
    assert done.verdict == "REJECT - 2 checks of 2 cases: 2 passed, 2 failed; largest error 0.75 of its tolerance"
    assert "  tp2     ok     FAIL       0.75" in done.output
    assert done.summary.startswith("# Meshgate: REJECT\n")
    assert "**gradients, llama-tp2-float64-adam**\n\n    gradients: wrong on rank 3\n      worst: x\n" in done.summary


def test_a_case_that_does_not_complete_has_its_row(run):
    """The fixture that runs the case fails before the check can say its name."""
    ranks = "import pytest\n@pytest.fixture\ndef ranks(evidence): pytest.fail('rank 3 died', pytrace=False)\n"
    done = run(ranks + "def test_loss(ranks, check): pass\n")
    assert done.code == 1
    assert done.verdict == "REJECT - 1 check of 2 cases: 2 in error"
    assert re.search(r"^  tp2     ERROR$", done.output, re.MULTILINE)
    assert "**loss, llama-tp2-float64-adam**\n\n    rank 3 died\n" in done.summary


def test_an_error_in_a_fixture_s_end_is_no_accept(run):
    done = run(
        "import pytest\n@pytest.fixture\ndef leaks():\n    yield\n    assert 0\n" + GOOD.replace("check)", "check, leaks)")
    )
    assert done.code == 1
    assert done.verdict.startswith("REJECT - ")


def test_skips_are_counted_with_their_reasons(run):
    done = run(GOOD + "def test_memory(evidence, check):\n    import pytest\n    pytest.skip('needs a GPU')\n")
    assert done.code == 0
    assert done.verdict == "ACCEPT - 3 checks of 2 cases: 4 passed, 2 skipped; largest error 0.75 of its tolerance"
    assert "## Skipped\n\n- 2 x needs a GPU\n" in done.summary


def test_only_skips_are_no_accept(run):
    done = run("import pytest\ndef test_loss(evidence, check):\n    pytest.skip('needs a GPU')\ndef test_unrelated(): pass\n")
    assert done.code == 0
    assert done.verdict == "NOTHING RAN - 1 check of 2 cases: 1 passed, 2 skipped"


def test_no_test_at_all(run):
    done = run("x = 1\n")
    assert done.code == 5
    assert done.verdict == "NOTHING RAN - no test has a result"
    assert done.summary.startswith("# Meshgate: NOTHING RAN\n")


def test_everything_deselected(run):
    done = run(GOOD, "-k", "no_such_check")
    assert done.code == 5
    assert done.verdict.startswith("NOTHING RAN - ")


def test_a_file_that_can_not_be_collected(run):
    done = run("import no_such_module\n")
    assert done.code == 2
    assert done.verdict.startswith("FAILED - 1 in error; no case was checked")


def test_tests_without_a_case_accept_nothing(run):
    done = run("def test_it(): pass\n")
    assert done.verdict == "PASSED - 1 passed; no case was checked"


def test_stop_at_the_first_failure_says_what_is_missing(run):
    done = run("def test_first(evidence): assert 0\n" + GOOD, "-x")
    assert done.verdict == "REJECT - 1 check of 1 case: 1 failed; the run stopped early; 5 selected tests have no result"


def test_a_run_that_stops_by_itself_is_incomplete(run):
    done = run(GOOD + "def test_stop():\n    import pytest\n    pytest.exit('enough', returncode=0)\ndef test_more(): pass\n")
    assert done.code == 0
    assert done.verdict.startswith("INCOMPLETE - ")
    assert "the run was interrupted (Exit: enough); 2 selected tests have no result" in done.verdict


def test_internal_error(run):
    broken = CONFTEST + "\ndef pytest_runtest_logfinish(nodeid):\n    if 'gradients' in nodeid: raise RuntimeError('plugin')\n"
    done = run(GOOD, conftest=broken)
    assert done.code == 3
    assert done.verdict.startswith("REJECT - ")  # pytest reports it as a test in error
    assert "pytest had an internal error" in done.summary


SLOW = (
    GOOD
    + """
def test_slow(evidence):
    import pathlib, time
    pathlib.Path("started").touch()
    time.sleep(SECONDS)
"""
)


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "the run was interrupted (KeyboardInterrupt)"), (signal.SIGTERM, "the run was ended by SIGTERM")],
    ids=["SIGINT", "SIGTERM"],
)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_interrupted(start, tmp_path, number, words, workers):
    # xdist waits for its workers: give them less to do.
    process = start(SLOW.replace("SECONDS", "2" if workers else "30"), *workers)
    _wait_for(tmp_path / "started")
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    done = Outcome(tmp_path, process.returncode, output)
    assert done.code == 2
    assert done.verdict.startswith("INCOMPLETE - ")
    assert words in done.verdict
    result = read(done.latest / "junit.xml")
    assert result.verdict == "INCOMPLETE"
    # A test under way is in the file under its name, as one without a result; never as one that passed.
    assert {test.outcome for test in result.results if "slow" in test.name} == {"unfinished"}
    assert {test.case for test in result.results if "slow" in test.name} <= {
        "llama-tp2-float64-adam",
        "llama-pp2dp2-float64-adam",
    }
    assert result.count("passed") == (4 if not workers else len([test for test in result.results if "slow" not in test.name]))
    assert result.missing >= 1
    assert done.summary.startswith("# Meshgate: INCOMPLETE\n")


def test_a_killed_run_does_not_leave_an_older_verdict_as_the_latest(run, start, tmp_path):
    assert run(GOOD).verdict.startswith("ACCEPT")
    process = start(SLOW.replace("SECONDS", "30"))
    _wait_for(tmp_path / "started")
    process.kill()
    process.communicate(timeout=20)
    latest = tmp_path / "out" / "latest"
    assert not (latest / "junit.xml").exists()
    assert (latest / "summary.md").read_text().startswith("# Meshgate: INCOMPLETE\n")


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_users_own_junit_file_is_written_too(run, tmp_path):
    done = run(GOOD, "--junitxml", "mine/own.xml")
    own = (tmp_path / "mine" / "own.xml").read_text()
    assert own == (done.latest / "junit.xml").read_text()
    assert 'name="stack_version"' in own


def test_each_run_has_a_folder_of_its_own(run, tmp_path):
    first = run(GOOD).latest.resolve()
    second = run(GOOD).latest.resolve()
    assert first != second
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([first.name, second.name, "latest"])


def test_a_folder_is_named_from_where_one_is(run, tmp_path):
    elsewhere = tmp_path / "else"
    elsewhere.mkdir()
    run(GOOD, "-c", "../pytest.ini", "--rootdir", "..", "..", "--reports-dir=mine", cwd=elsewhere)
    assert read(elsewhere / "mine" / "latest" / "junit.xml").verdict == "ACCEPT"
    default = CONFTEST.replace('default="out"', 'default="reports/out"')
    run(GOOD, "-c", "../pytest.ini", "--rootdir", "..", "..", cwd=elsewhere, conftest=default)
    assert read(tmp_path / "reports" / "out" / "latest" / "junit.xml").verdict == "ACCEPT"


@pytest.mark.parametrize("question", ["--collect-only", "--help", "--fixtures", "--markers", "--setup-plan"])
def test_a_question_leaves_no_report(run, tmp_path, question):
    done = run(GOOD, question)
    assert done.code == 0
    assert "verdict" not in done.output
    assert not (tmp_path / "out").exists()


def test_without_links_latest_is_a_copy(run, tmp_path):
    (tmp_path / "out" / "latest").mkdir(parents=True)  # a link can't take the place of a folder
    done = run(GOOD)
    assert not done.latest.is_symlink()
    assert read(done.latest / "junit.xml").verdict == "ACCEPT"
    assert done.summary.startswith("# Meshgate: ACCEPT\n")


def test_a_folder_that_can_not_be_written(run, tmp_path):
    (tmp_path / "out").write_text("a file")
    done = run(GOOD)
    assert done.code == 4
    errors = [line for line in done.output.splitlines() if "ERROR" in line]
    assert errors == [f"ERROR: --reports-dir {tmp_path / 'out'}: can't be written: Not a directory; name another folder"]


def test_a_usage_error_at_collection_has_no_other_last_word(run):
    refusing = CONFTEST + "\ndef pytest_collection_modifyitems():\n    raise pytest.UsageError('--layout tp3: no')\n"
    done = run(GOOD, conftest=refusing)
    assert done.code == 4
    assert done.output.strip().splitlines()[-1] == "ERROR: --layout tp3: no"
    assert "verdict" not in done.output
    assert read(done.latest / "junit.xml").verdict == "INCOMPLETE"


def test_without_pytests_own_junit_plugin(run):
    done = run("def test_it(): pass\n", "-p", "no:junitxml")
    assert done.code == 0
    assert done.verdict == "INCOMPLETE - there is no JUnit file to judge by"
    assert "No report: pytest wrote no JUnit file" in done.summary


def test_the_controller_imports_no_torch(run):
    done = run("import sys\ndef test_it(): assert 'torch' not in sys.modules\n")
    assert done.verdict.startswith("PASSED")


def test_reports_reads_junit_only():
    """reports/ imports nothing of fixtures/ or suites/, so that it works on files from anywhere."""
    program = "import sys, json, reports.pytest_plugin, reports.summary; print(json.dumps(sorted(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert [name for name in json.loads(done.stdout) if name.split(".")[0] in ("fixtures", "suites", "torch")] == []


MIXED = (
    GOOD
    + """
import pytest
def test_memory(evidence, check):
    pytest.skip("needs a GPU")
def test_wrong(evidence, check):
    print("said \\x1b[31m <this> \\x00")
    pytest.fail("wrong: <b> & \\x07\\n" + "\\n".join(f"  line {number} of the finding" for number in range(40)), pytrace=False)
@pytest.fixture
def ranks(evidence):
    pytest.fail("rank 3 died\\n" + "\\n".join(f"  frame {number} of its stack" for number in range(40)), pytrace=False)
def test_broken(ranks, check): pass
@pytest.mark.xfail(reason="known issue x: a title", strict=True)
def test_known(evidence, check): assert 0
@pytest.fixture
def leaks():
    yield
    pytest.fail("left over", pytrace=False)
def test_leaks(evidence, check, leaks): pass
def test_rows(evidence, record_property):
    record_property("table:loads", '{"into": "tp2"}')
    record_property("table:loads", '{"into": "pp2"}')
"""
)


@pytest.mark.parametrize("arguments", [(), ("-n", "3"), ("--maxfail=2",)], ids=["one process", "xdist", "stopped"])
@pytest.mark.parametrize("end", ["", "def test_end(evidence):\n    pytest.exit('enough')\n"], ids=["whole", "cut"])
def test_the_file_has_the_form_that_ci_systems_take(run, arguments, end):
    done = run(MIXED + end, *arguments)
    assert violations(done.latest / "junit.xml") == []


def test_the_schema_finds_what_is_wrong(run, tmp_path):
    text = (run(MIXED).latest / "junit.xml").read_text()
    path = tmp_path / "changed.xml"
    for old, new, words in (
        ("<testsuites ", "<suites ", "the root is <suites>"),
        (' classname="test_it"', "", "<testcase> has no classname"),
        (' time="', ' time="a', "time of <testcase> is 'a"),
        ("<skipped ", "<ignored ", "<testcase> has <ignored> in it"),
        ("<failure ", "<failure/><failure ", "<testcase> has several <failure>"),
        ("<properties>", "<system-out/><properties>", "<testcase> has system-out, properties"),
        ("<properties>", "words<properties>", "<testcase> has text"),
        (' file="', ' files="', "<testcase> has files"),
        (' failures="', ' failures="1', "failures of <testsuite> is 1"),
    ):
        assert old in text
        path.write_text(text.replace(old, new).replace("</testsuites>", "</suites>" if new == "<suites " else "</testsuites>")
                        .replace("</skipped>", "</ignored>" if new == "<ignored " else "</skipped>"))  # fmt: skip
        assert [line for line in violations(path) if line.startswith(words)], new


@pytest.mark.parametrize("family", ["legacy", "xunit2"])
def test_the_schema_tells_families_apart(run, family):
    """xunit2 has no file and line, so that rows and findings could not be placed."""
    done = run(GOOD, "-o", f"junit_family={family}")
    assert violations(done.latest / "junit.xml") == []
    assert (' file="test_it.py"' in (done.latest / "junit.xml").read_text()) == (family == "legacy")


def test_ids_and_their_order_are_the_same_in_each_run(run):
    """History in CI goes by them. xdist's workers end in any order."""
    source = MIXED.replace(
        "def test_loss(evidence, check):\n", "def test_loss(evidence, check):\n    import time; time.sleep(0.5)\n"
    )
    found = []
    for arguments in ((), ("-n", "3"), ("-n", "2")):
        result = read(run(source, *arguments).latest / "junit.xml")
        found.append([test.name for test in result.results])
        assert table.make(result.results).checks[0] == "loss"
        assert [row.label for row in table.make(result.results).rows] == ["tp2", "pp2dp2"]
    assert found[0][:2] == ["test_it.test_loss[tp2]", "test_it.test_loss[pp2dp2]"]
    assert found[0] == found[1] == found[2]


def test_findings_are_whole_whatever_pytest_cuts(run):
    """pytest cuts the message that dashboards show; the finding below it is whole."""
    tests = {test.name: test for test in read(run(MIXED).latest / "junit.xml").results}
    wrong = tests["test_it.test_wrong[tp2]"].message.splitlines()
    assert wrong[0].startswith("wrong: <b> & ")
    assert wrong[-1] == "  line 39 of the finding"
    assert len(wrong) == 41
    died = tests["test_it.test_broken[tp2]"].message.splitlines()
    assert (died[0], died[-1], len(died)) == ("rank 3 died", "  frame 39 of its stack", 41)
    assert tests["test_it.test_leaks[tp2]"].message == "left over"


def test_the_page_of_a_run(run):
    page = (run(MIXED).latest / "report.html").read_text()
    assert "REJECT</h1>" in page
    assert "FAIL: wrong, llama-tp2-float64-adam" in page
    assert "wrong: &lt;b&gt; &amp; " in page
    assert "line 39 of the finding" in page
    assert re.search(r'<th scope="row">tp2</th>\s*</tr>\s*<tr><th scope="row">pp2</th>', page)


def test_without_jinja2_there_is_no_page_and_all_else(run, tmp_path):
    hiding = "import sys\nsys.modules['jinja2'] = None\n" + CONFTEST
    done = run(GOOD, conftest=hiding)
    assert done.code == 0
    assert done.verdict.startswith("ACCEPT")
    assert done.output.strip().endswith("summary.md no report.html: jinja2 is not installed")
    assert not (done.latest / "report.html").exists()


def test_the_last_folders_are_kept(run, tmp_path):
    out = tmp_path / "out"
    for number in range(30):
        folder = out / f"20250101T0000{number:02}Z-abcdef"
        folder.mkdir(parents=True)
        (folder / "junit.xml").write_text("<testsuite/>")
        (folder / "summary.md").write_text("old")
    # Not ours, or not only ours, or perhaps of a run that goes on: these stay.
    (out / "20250101T000000Z-abcdef" / "mine.txt").write_text("notes")
    (out / "20250101T000001Z-abcdef" / "junit.xml").unlink()
    (out / "20250101T000002Z-abcdef").rename(out / "before the upgrade")
    (out / "20240101T000000Z-abcdef").mkdir()
    (out / "20240101T000001Z-abcdef").symlink_to(out / "before the upgrade")
    done = run(GOOD)
    left = sorted(path.name for path in out.iterdir())
    assert left == sorted(
        [
            *("20240101T000000Z-abcdef", "20240101T000001Z-abcdef", "before the upgrade", "latest", done.latest.resolve().name),
            *("20250101T000000Z-abcdef", "20250101T000001Z-abcdef"),
            *(f"20250101T0000{number:02}Z-abcdef" for number in range(11, 30)),
        ]
    )
