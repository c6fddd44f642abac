"""ci/: environments are made once, kept as they are where they exist, and arguments and exit codes go through."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]
SCRIPTS = ["ci/accept", "ci/test", "ci/lib.sh", ".ci/run"]

# Stands for a Python: answers as one, and writes down what it is asked to install and to run.
FAKE_PYTHON = """#!/bin/bash
real={real}
case "$*" in
    "-c import sys; print("*) echo "${{FAKE_VERSION:-3.11.7}}" ;;
    -) echo "${{FAKE_TORCH:-nowhere}}" ;;
    "-c import sys; sys.exit(sys.version_info >= (3, 12))") exit 0 ;;
    "-c import "*) exit 0 ;;
    -VV) echo "Python 3.11.7" ;;
    "-m venv "*)
        folder=${{@: -1}}
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        echo "include-system-site-packages = $([[ "$*" = *--system-site-packages* ]] && echo true || echo false)" \
            >"$folder/pyvenv.cfg"
        echo "venv" >>"$FAKE_LOG" ;;
    *ci/missing.py*)
        [ -z "${{FAKE_COMPLETE:-}}" ] || exit 0
        exec "$real" -I -S "$@" ;;
    "-m pip install"*)
        echo "pip ${{@:3}}" >>"$FAKE_LOG"
        echo "this is pip"
        exit "${{FAKE_PIP:-0}}" ;;
    "-m pytest"*)
        home=${{0%/bin/python}}
        printf 'pytest of %s in %s:' "${{home##*/}}" "$PWD" >>"$FAKE_LOG"
        printf ' [%s]' "${{@:3}}" >>"$FAKE_LOG"
        echo >>"$FAKE_LOG"
        exit "${{FAKE_PYTEST:-0}}" ;;
    "-m "*)
        echo "tool $2" >>"$FAKE_LOG"
        [ "$2" != "${{FAKE_RED:-}}" ] ;;
    *) echo "unexpected: $*" >&2; exit 99 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A copy of ci/ in a folder with a space in its name."""
    folder = tmp_path / "a check out"
    shutil.copytree(ROOT / "ci", folder / "ci")
    (folder / "suites").mkdir()
    return folder.resolve()


@pytest.fixture
def python(tmp_path):
    """The fake interpreter."""
    path = tmp_path / "fake python"
    path.write_text(FAKE_PYTHON.format(real=shlex.quote(sys.executable)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def call(tmp_path, checkout, python):
    """``call(script, *arguments, **environment)`` returns (exit code, output, what the fake Python did)."""
    log = tmp_path / "log"

    def run(script: str, *arguments: str, cwd: Path | None = None, **environment: str) -> tuple[int, str, list[str]]:
        log.unlink(missing_ok=True)
        clean = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        clean |= {"MESHGATE_PYTHON": str(python), "FAKE_LOG": str(log), "TMPDIR": str(tmp_path), **environment}
        done = subprocess.run(
            ["bash", str(checkout / script), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean,
            cwd=cwd or checkout,
            timeout=60,
        )
        return done.returncode, done.stdout, log.read_text().splitlines() if log.exists() else []

    return run


@pytest.mark.parametrize("script", SCRIPTS)
def test_syntax(script):
    assert subprocess.run(["bash", "-n", str(ROOT / script)], capture_output=True, check=False).stderr == b""


@pytest.mark.parametrize("script", ["ci/accept", "ci/test", "ci/bench", ".ci/run"])
def test_scripts_can_be_started(script):
    assert os.access(ROOT / script, os.X_OK)


def test_nothing_names_an_index():
    """Where packages come from is the machine's affair."""
    for path in (*ROOT.glob("ci/*"), ROOT / "pyproject.toml"):
        if path.is_file():
            assert not re.search(r"index-url|find-links|https?://\S*(pypi|whl)", path.read_text())


def test_constraints_pin_everything_that_is_asked_for():
    pinned = set(re.findall(r"^([A-Za-z0-9-]+)==", (ROOT / "ci/constraints.txt").read_text(), re.MULTILINE))
    for path in ROOT.glob("ci/requirements*.txt"):
        assert set(re.findall(r"^([A-Za-z0-9-]+)", path.read_text(), re.MULTILINE)) <= pinned


def test_pyproject_and_ci_ask_for_the_same():
    text = (ROOT / "pyproject.toml").read_text()
    for path in ROOT.glob("ci/requirements*.txt"):
        for line in path.read_text().splitlines():
            assert line.startswith("#") or f'"{line}"' in text


@pytest.mark.parametrize("version", ["3.10.13", "3.9.18", "3.6.15", "2.7.18"])
def test_an_old_python_is_refused_in_one_line(call, python, version):
    code, output, did = call("ci/accept", FAKE_VERSION=version)
    assert code == 4
    what_to_do = "install Python 3.11 or newer, or set MESHGATE_PYTHON to one"
    assert output == f"meshgate: {python} is Python {version}, too old; {what_to_do}\n"
    assert did == []


@pytest.mark.parametrize("version", ["3.11.0", "3.12.1", "3.13.0", "3.20.0", "4.0.0"])
def test_a_newer_python_is_used(call, version):
    assert call("ci/accept", FAKE_VERSION=version, FAKE_COMPLETE="1")[0] == 0


def test_no_python_at_all(call):
    code, output, _ = call("ci/accept", MESHGATE_PYTHON="no-such-python")
    assert (code, output) == (
        4,
        "meshgate: no interpreter 'no-such-python'; install Python 3.11 or newer, or set MESHGATE_PYTHON to one\n",
    )


def test_first_start_installs_pinned_and_later_ones_take_no_time(call, checkout):
    code, output, did = call("ci/accept", "--layout", "tp2pp2cp2dp2", "-k", "loss or norm")
    assert code == 0
    ci = checkout / "ci"
    files = f"-r {ci}/requirements.txt -r {ci}/requirements-stack.txt -c {ci}/constraints.txt"
    run = f"pytest of .venv in {checkout}: [-m] [multinode] [--layout=tp2pp2cp2dp2] [-k] [loss or norm]"
    assert did == ["venv", f"pip install --disable-pip-version-check --no-input {files}", run]
    assert f"making the environment {checkout}/.venv" in output
    assert "this is pip" not in output
    run = f"pytest of .venv in {checkout}: [-m] [multinode]"
    assert call("ci/accept", FAKE_COMPLETE="1") == (0, "", [run])
    # Other versions, or something taken out of the environment: installed again.
    assert [line.split()[0] for line in call("ci/accept")[2]] == ["pip", "pytest"]
    with (ci / "constraints.txt").open("a") as file:
        file.write("more==1\n")
    assert [line.split()[0] for line in call("ci/accept", FAKE_COMPLETE="1")[2]] == ["pip", "pytest"]


def test_failed_installation_shows_why_and_is_tried_again(call):
    code, output, did = call("ci/accept", FAKE_PIP="1")
    assert code == 4
    assert "this is pip\nmeshgate: installing the dependencies failed" in output
    assert [line.split()[0] for line in did] == ["venv", "pip"]
    assert [line.split()[0] for line in call("ci/accept", FAKE_COMPLETE="1")[2]] == ["pip", "pytest"]


@pytest.mark.parametrize("code", [0, 1, 2, 4, 5])
def test_exit_code_is_pytests(call, code):
    assert call("ci/accept", FAKE_PYTEST=str(code), FAKE_COMPLETE="1")[0] == code


def test_from_another_folder_paths_are_the_callers(call, checkout, tmp_path):
    elsewhere = (tmp_path / "else where").resolve()
    elsewhere.mkdir()
    did = call("ci/accept", "--layout", "mine.txt", cwd=elsewhere, FAKE_COMPLETE="1")[2]
    where = f"[-c] [{checkout}/pyproject.toml] [--rootdir] [{checkout}] [{checkout}/suites]"
    assert did[-1] == f"pytest of .venv in {elsewhere}: {where} [-m] [multinode] [--layout=mine.txt]"


def test_an_interpreter_with_torch_keeps_it(call, checkout, tmp_path):
    """A container: .venv sees its packages, and only what is missing is asked for, with the rest held in place."""
    did = call("ci/accept", FAKE_TORCH="system")[2]
    assert "= true" in (checkout / ".venv/pyvenv.cfg").read_text()
    assert did[0] == "venv"
    requirements, constraints = re.fullmatch(
        r"pip install .* -r (.*/requirements.txt) -c (.*/constraints.txt)", did[1]
    ).groups()
    assert Path(requirements).parent == Path(constraints).parent
    assert not requirements.startswith(str(checkout))
    # Once complete, nothing is installed.
    assert [line.split()[0] for line in call("ci/accept", FAKE_TORCH="system", FAKE_COMPLETE="1")[2]] == ["pytest"]


def test_a_virtual_environment_with_torch_needs_no_activation(call, checkout):
    did = call("ci/accept", FAKE_TORCH="environment")[2]
    assert [line.split()[0] for line in did] == ["pip", "pytest"]
    assert "/constraints.txt" in did[0]
    assert f"-c {checkout}" not in did[0]  # held in place, not moved to the pins
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_is_used_as_it_is(call, checkout, python, tmp_path, variable):
    active = tmp_path / "active"
    (active / "bin").mkdir(parents=True)
    shutil.copy(python, active / "bin/python")
    environment = {variable: str(active), "FAKE_COMPLETE": "1", "MESHGATE_PYTHON": "not-asked"}
    assert [line.split()[0] for line in call("ci/accept", **environment)[2]] == ["pytest"]
    assert not (checkout / ".venv").exists()


def test_an_active_environment_without_python(call, tmp_path):
    code, output, _ = call("ci/accept", VIRTUAL_ENV=str(tmp_path / "gone"))
    assert code == 4
    assert output.startswith(f"meshgate: the active environment {tmp_path}/gone has no bin/python; ")


def test_all_steps_of_ci_test_run_and_a_red_one_is_red(call, checkout):
    code, output, did = call("ci/test", "--second-python", "none", "-k", "layout", FAKE_COMPLETE="1", FAKE_RED="mypy")
    assert code == 1
    assert did[1:] == ["pip " + did[1].split(maxsplit=1)[1], "tool ruff", "tool ruff", "tool mypy", did[-1]]
    assert f"-r {checkout}/ci/requirements-dev.txt" in did[1]
    assert did[-1] == f"pytest of .venv in {checkout}: [-k] [layout]"
    assert output.splitlines()[-1] == "meshgate: red: mypy"
    assert "the other stack version is not tested here: --second-python none" in output
    assert call("ci/test", "--second-python=none", FAKE_COMPLETE="1")[0] == 0
    assert call("ci/test", "--second-python=none", FAKE_COMPLETE="1", FAKE_PYTEST="2")[0] == 1


def test_the_second_python_gets_an_environment_of_its_own(call, checkout, python):
    # The gate itself is tested in test_gate_upgrade.py; here it only says how it was called.
    gate = checkout / "ci" / "upgrade-gate"
    gate.write_text('#!/bin/sh\necho "gate $*" >>"$FAKE_LOG"\n')
    code, _, did = call("ci/test", "--second-python", str(python), FAKE_COMPLETE="1")
    assert code == 0
    first, second = f"{checkout}/.venv/bin/python", f"{checkout}/.venv-3.11.7/bin/python"
    runs = [line for line in did if line.startswith(("pytest", "gate"))]
    assert len(runs) == 5
    assert all(run.startswith("pytest of .venv-3.11.7 in ") for run in runs[:3])
    assert "[-m] [multinode] [--layout=tp2pp2cp2dp2]" in runs[0]
    assert "[--architecture] [qwen3-moe] [--architecture] [nemotron-3-nano]" in runs[1]
    assert "[-m] [multinode and (checkpoint or memory)]" in runs[2]
    assert runs[3] == f"gate --from {first} --to {second} --layout tp2pp2cp2dp2"
    assert runs[4] == f"pytest of .venv in {checkout}: []"
    assert (checkout / ".venv-3.11.7/bin/python").exists()  # the fake gives its whole version for the short one
    assert did.count("venv") == 2


@pytest.mark.parametrize("arguments", [("--second-python",), ("--second-python", "no-such-python")])
def test_a_second_python_that_is_not_there_is_refused(call, arguments):
    code, output, did = call("ci/test", *arguments)
    assert (code, did) == (4, [])
    assert output.startswith("meshgate: --second-python ")
    assert output.count("\n") == 1


def test_a_second_environment_that_can_not_be_made_is_red_where_it_was_asked_for(call, python, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text('#!/bin/sh\n[ "$1" = -c ] && echo 3.12\n')
    broken.chmod(0o755)
    code, output, did = call("ci/test", "--second-python", str(broken), FAKE_COMPLETE="1")
    assert code == 1
    assert output.splitlines()[-1] == f"meshgate: red: the environment of {broken}"
    assert did[-1].startswith("pytest of .venv in ")


def _distribution(folder: Path, name: str, version: str) -> None:
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def _missing(tmp_path: Path, there: Path, *files: str) -> tuple[int, list[str], list[str]]:
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            str(ROOT / "ci/missing.py"),
            str(tmp_path),
            *(str(ROOT / "ci" / file) for file in files),
        ],
        env={"PYTHONPATH": str(there)},
        check=False,
    )
    lines = [(tmp_path / name).read_text().splitlines() for name in ("requirements.txt", "constraints.txt")]
    return done.returncode, lines[0], lines[1]


def test_what_is_missing(tmp_path):
    there = tmp_path / "there"
    _distribution(there, "torch", "2.6.0a0+ecf3bae40a.nv25.1")
    _distribution(there, "Megatron_Core", "0.16.0rc0")
    _distribution(there, "numpy", "1.26.4")
    _distribution(there, "odd", "1.0-3ubuntu1")
    code, requirements, constraints = _missing(tmp_path, there, "requirements.txt", "requirements-stack.txt")
    assert code == 1
    assert requirements == [
        "pytest>=8.2",
        "pytest-xdist>=3.5",
        "hypothesis>=6.100",
        "junitparser>=3.1",
        "psutil>=5.9",
        "packaging>=23",
        "Jinja2>=3.1",
        "einops",
    ]
    assert [line for line in constraints if re.match("torch|megatron|numpy|odd", line)] == [
        "megatron-core==0.16.0rc0",
        "numpy==1.26.4",
        "torch==2.6.0a0+ecf3bae40a.nv25.1",
    ]
    assert "pytest==9.2.0" in constraints


def test_a_stack_on_the_python_path_is_not_missing(tmp_path):
    there = tmp_path / "there"
    _distribution(there, "torch", "2.6.0")
    _distribution(there, "einops", "0.8.0")
    (there / "megatron" / "core").mkdir(parents=True)
    (there / "megatron" / "core" / "__init__.py").write_text("raise RuntimeError('is not imported')")
    assert _missing(tmp_path, there, "requirements-stack.txt")[:2] == (0, [])


def test_nothing_there(tmp_path):
    assert _missing(tmp_path, tmp_path / "there", "requirements-stack.txt")[:2] == (
        1,
        ["torch>=2.6", "megatron-core>=0.16", "einops"],
    )


@pytest.mark.parametrize(
    ("main", "bare", "good", "ratio"),
    [(9.0, 5.0, True, "1.80"), (10.1, 5.0, False, "2.02"), (15.5, 9.0, False, "1.72")],
)
def test_benchmark_limits(main, bare, good, ratio):
    specification = importlib.util.spec_from_file_location("bench", ROOT / "ci/bench.py")
    bench = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bench)
    text, within = bench.report(main, bare, limit=15.0, ratio=2.0)
    assert within is good
    assert text.splitlines()[2].split() == ["ratio:", ratio + ",", "limit", "2"]


def test_benchmark_shows_why_a_part_failed():
    specification = importlib.util.spec_from_file_location("bench", ROOT / "ci/bench.py")
    bench = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bench)
    with pytest.raises(SystemExit, match="why\n\nci/bench: the main job failed with exit code 3; its output is above"):
        bench.seconds("the main job", [sys.executable, "-c", "print('why'); raise SystemExit(3)"])
