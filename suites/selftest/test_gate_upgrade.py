"""ci/upgrade-gate: both stacks run the same checks under one controller, and the gate has the last word."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]

# Stands for a Python. One named "*stack*" has torch and megatron-core. Its pytest writes a report in which the check fails
# when the ranks' interpreter is named "*broken*", and none when it is named "*silent*". The gate is the real one.
FAKE_PYTHON = """#!/bin/bash
real={real}
case "$*" in
    -)
        script=$(cat)
        case $script in
            *megatron.core*) [[ $0 = *stack* ]] ;;
            *) echo nowhere ;;
        esac ;;
    "-c import sys; print(sys.executable)") echo "$0" ;;
    "-c import sys; print("*"[:2])") echo "${{FAKE_VERSION:-3.11}}" ;;
    "-c import sys; print("*) echo "${{FAKE_VERSION:-3.11}}.7" ;;
    "-c import "*) exit 0 ;;
    -VV) echo "Python 3.11.7" ;;
    "-m venv "*)
        folder=${{@: -1}}
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        touch "$folder/pyvenv.cfg"
        echo "venv ${{folder##*/}}" >>"$FAKE_LOG" ;;
    *ci/missing.py*) exit 0 ;;
    "-m pip install"*) echo "pip" >>"$FAKE_LOG" ;;
    "-m pytest"*)
        home=${{0%/bin/python}}
        stack='' folder=''
        for argument in "$@"; do
            case $argument in
                --stack-python=*) stack=${{argument#*=}} ;;
                --reports-dir=*) folder=${{argument#*=}} ;;
            esac
        done
        printf 'pytest of %s for %s:' "${{home##*/}}" "${{stack#"$FAKE_HOME"/}}" >>"$FAKE_LOG"
        for argument in "${{@:3}}"; do
            case $argument in --stack-python=* | --reports-dir=*) ;; *) printf ' [%s]' "$argument" >>"$FAKE_LOG" ;; esac
        done
        echo >>"$FAKE_LOG"
        [ "${{FAKE_PYTEST:-0}}" -eq 0 ] || exit "$FAKE_PYTEST"
        mkdir -p "$folder/latest"
        [[ $stack = *silent* ]] && exit 2
        result=''
        [[ $stack = *broken* ]] && result='<failure message="wrong"/>'
        printf '<testsuite><testcase name="a"/><testcase name="b">%s</testcase></testsuite>' "$result" \
            >"$folder/latest/junit.xml"
        [ -z "$result" ] ;;
    "-P -m reports.gate"*) exec "$real" "$@" ;;
    *) echo "unexpected: $*" >&2; exit 99 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the script needs, in a folder with a space in its name."""
    folder = tmp_path / "a check out"
    shutil.copytree(ROOT / "ci", folder / "ci")
    shutil.copytree(ROOT / "reports", folder / "reports", ignore=shutil.ignore_patterns("out", "__pycache__"))
    (folder / "suites").mkdir()
    return folder.resolve()


@pytest.fixture
def python(tmp_path):
    """``python(name)`` makes a fake interpreter; "old stack" and such have a stack."""

    def make(name: str) -> Path:
        path = tmp_path / name
        path.write_text(FAKE_PYTHON.format(real=shlex.quote(sys.executable)))
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def call(tmp_path, checkout, python):
    """``call(*arguments)`` returns (exit code, output, what the fake interpreters did)."""
    controller = tmp_path / "controller"
    (controller / "bin").mkdir(parents=True)
    shutil.copy(python("bare"), controller / "bin" / "python")
    log = tmp_path / "log"

    def run(*arguments: object, **environment: str) -> tuple[int, str, list[str]]:
        log.unlink(missing_ok=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CONDA", "PY", "VIRTUAL"))}
        clean |= {"VIRTUAL_ENV": str(controller), "FAKE_LOG": str(log), "FAKE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            ["bash", str(checkout / "ci/upgrade-gate"), *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean | environment, cwd=checkout, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout, log.read_text().splitlines() if log.exists() else []

    return run


def test_both_stacks_run_the_same_checks_under_one_controller(call, python, checkout):
    code, output, did = call("--from", python("old stack"), f"--to={python('new stack')}", "--layout", "tp2", "-k", "loss")
    assert did == [
        "pytest of controller for old stack: [-m] [multinode] [--layout=tp2] [-k] [loss]",
        "pytest of controller for new stack: [-m] [multinode] [--layout=tp2] [-k] [loss]",
    ]
    assert code == 0
    assert "\nverdict: ACCEPT - no worse than the baseline: 2 passed in both\n" in output
    (folder,) = (checkout / "reports" / "out").iterdir()
    assert output.endswith(f"\nreports: {folder}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["from", "gate.html", "gate.md", "to"]
    assert (folder / "gate.md").read_text().startswith("# Meshgate gate: ACCEPT\n")


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ("old stack", "broken stack", 1, "verdict: REJECT - 1 new failure\n"),
        ("broken stack", "new stack", 0, "fixed: 1\n  b: failed -> passed: wrong\n"),
        ("old stack", "silent stack", 2, "the folder has no junit.xml"),
    ],
)
def test_the_exit_code_is_the_gates(call, python, before, after, code, words):
    found, output, _ = call("--from", python(before), "--to", python(after))
    assert found == code
    assert words in output


def test_a_policy_reaches_the_gate(call, python, tmp_path):
    (tmp_path / "strict.toml").write_text("[reject]\nstill_failing = true\n")
    one = python("broken stack")
    assert call("--from", one, "--to", one)[0] == 0
    code, output, _ = call("--from", one, "--to", one, "--policy", tmp_path / "strict.toml")
    assert code == 1
    assert "verdict: REJECT - 1 still failing" in output


def test_a_bare_interpreter_gets_an_environment_that_is_the_controller_too(call, python):
    old, new = python("python-old"), python("new stack")
    code, _, did = call("--from", old, "--to", new)
    assert code == 0
    assert did == [
        "venv .venv-3.11",
        "pip",
        "pytest of .venv-3.11 for a check out/.venv-3.11/bin/python: [-m] [multinode]",
        "pytest of .venv-3.11 for new stack: [-m] [multinode]",
    ]


def test_reports_go_where_they_are_told(call, python, tmp_path):
    one = python("old stack")
    assert call("--from", one, "--to", one, "--reports-dir", tmp_path / "mine")[0] == 0
    (folder,) = (tmp_path / "mine").iterdir()
    assert (folder / "gate.html").exists()


def test_what_can_not_start_is_not_compared(call, python):
    one = python("old stack")
    code, output, did = call("--from", one, "--to", one, FAKE_PYTEST="4")
    assert code == 4
    assert len(did) == 1
    assert "verdict" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--from is missing: the interpreter of the stack that you have"),
        (["--from", "STACK"], "--to is missing: the interpreter of the stack that you want to move to"),
        (["--from"], "--from needs a value"),
        (
            ["--from", "no-such-python", "--to", "STACK"],
            "--from no-such-python: no such interpreter; give the path of one, or ",
        ),
        (["--from", "STACK", "--to", "no-such-python"], "--to no-such-python: no such interpreter; give the path"),
        (["--from", "STACK", "--to", "STACK", "--stack-python=x"], "--stack-python is what --from and --to set; leave it out"),
        (["--from", "STACK", "--to", "STACK", "--policy", "none.toml"], "--policy none.toml: no such file"),
    ],
)
def test_wrong_usage_is_one_line(call, python, arguments, words):
    stack = python("old stack")
    code, output, did = call(*(stack if argument == "STACK" else argument for argument in arguments))
    assert (code, did) == (4, [])
    assert output.startswith(f"meshgate: {words}")
    assert output.count("\n") == 1
