# shellcheck shell=bash
# Shared by ci/accept, ci/test and ci/bench: an environment with the pinned dependencies. Sourced, not run.
# Sets $PYTHON, the interpreter to use. Works with bash 3.2 (macOS) and newer.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What Meshgate needs in every environment, and the stack under test.
NEEDED=("$ROOT/ci/requirements.txt" "$ROOT/ci/requirements-stack.txt")

# One line to standard error, and exit code 4: pytest's code for wrong usage.
fail() {
    echo "meshgate: $1" >&2
    exit 4
}

# use_environment [FILE...]: set PYTHON to an interpreter that has what ci/requirements*.txt (and the files) ask for.
#   A virtual or conda environment that is active is used as it is, and so is one with torch whose Python comes first on
#   the path; what is missing is installed, nothing is replaced. Otherwise .venv in the checkout is made. Where the base
#   interpreter has torch (a container), .venv sees it and keeps it.
use_environment() {
    local active=${VIRTUAL_ENV:-${CONDA_PREFIX:-}}
    if [ -n "$active" ]; then
        PYTHON=$active/bin/python
        [ -x "$PYTHON" ] || fail "the active environment $active has no bin/python; deactivate it, or make it anew"
        _check_version "$PYTHON" "activate an environment with Python 3.11 or newer, or none"
        _complete "$@"
    else
        local base=${MESHGATE_PYTHON:-python3}
        command -v "$base" >/dev/null 2>&1 ||
            fail "no interpreter '$base'; install Python 3.11 or newer, or set MESHGATE_PYTHON to one"
        _check_version "$base" "install Python 3.11 or newer, or set MESHGATE_PYTHON to one"
        if [ "$(_torch_is_in "$base")" = environment ]; then
            PYTHON=$(command -v "$base")
            _complete "$@"
        else
            make_environment "$base" "$ROOT/.venv" "$@"
        fi
    fi
}

# Print where an interpreter has torch: in a virtual "environment" of its own, in the "system", or "nowhere".
_torch_is_in() {
    "$1" - <<'PROBE' 2>/dev/null || echo nowhere
import importlib.util, sys
there = importlib.util.find_spec("torch") is not None
print("nowhere" if not there else "system" if sys.prefix == sys.base_prefix else "environment")
PROBE
}

# make_environment PYTHON FOLDER [FILE...]: the same with an environment of our own.
make_environment() {
    local base=$1 folder=$2
    shift 2
    PYTHON=$folder/bin/python
    if [ ! -e "$PYTHON" ]; then
        local options=()
        if [ "$(_torch_is_in "$base")" = system ]; then
            options=(--system-site-packages)
        fi
        echo "meshgate: making the environment $folder"
        "$base" -m venv ${options[@]+"${options[@]}"} "$folder" ||
            fail "$base can't make a virtual environment; install its venv module (Debian and Ubuntu: python3-venv)"
    fi
    "$PYTHON" -c 'import pip' 2>/dev/null || "$PYTHON" -m ensurepip >/dev/null 2>&1 ||
        fail "the environment $folder does not work; remove it and start again"
    _check_version "$PYTHON" "remove $folder and start again"
    if grep -qi '^include-system-site-packages *= *true' "$folder/pyvenv.cfg" 2>/dev/null; then
        _complete "$@"
    else
        _install_pinned "$folder/meshgate-stamp" "$@"
    fi
}

_check_version() {
    local version
    version=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) ||
        fail "$1 does not run; $2"
    case $version in
        3.[0-9].* | 3.10.* | [0-2].*) fail "$1 is Python $version, too old; $2" ;;
    esac
}

# Install what is missing; all that is there stays at its version.
_complete() {
    local scratch
    scratch=$(mktemp -d)
    if ! "$PYTHON" "$ROOT/ci/missing.py" "$scratch" "${NEEDED[@]}" "$@"; then
        [ -s "$scratch/requirements.txt" ] || fail "could not find out what $PYTHON has installed; the error is above"
        _pip "$scratch" -r "$scratch/requirements.txt" -c "$scratch/constraints.txt"
    fi
    rm -rf "$scratch"
}

# Install the exact versions of ci/constraints.txt, once for each content of the files.
_install_pinned() {
    local stamp=$1 file wanted scratch arguments=()
    shift
    wanted=$({ "$PYTHON" -VV; cat "$ROOT/ci/constraints.txt" "${NEEDED[@]}" "$@"; } | cksum)
    scratch=$(mktemp -d)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] ||
        ! "$PYTHON" "$ROOT/ci/missing.py" "$scratch" "${NEEDED[@]}" "$@"; then
        for file in "${NEEDED[@]}" "$@"; do
            arguments+=(-r "$file")
        done
        _pip "$scratch" "${arguments[@]}" -c "$ROOT/ci/constraints.txt"
        echo "$wanted" >"$stamp"
    fi
    rm -rf "$scratch"
}

# _pip FOLDER ARGUMENT...: pip install; its output is only shown when it fails.
_pip() {
    local scratch=$1
    shift
    echo "meshgate: installing into $PYTHON (the first time this takes some minutes); log: $scratch/pip.log"
    if ! "$PYTHON" -m pip install --disable-pip-version-check --no-input "$@" >"$scratch/pip.log" 2>&1; then
        tail -n 30 "$scratch/pip.log" >&2
        fail "installing the dependencies failed; the end of pip's output is above, all of it in $scratch/pip.log"
    fi
}

# run_pytest ARGUMENT...: from the caller's folder, so that paths in arguments mean what the caller sees.
#   "--option PATH" becomes "--option=PATH" for options of ours: pytest looks for its settings beside every argument
#   that is an existing path, before it knows of options that a conftest.py adds.
run_pytest() {
    local joined=()
    [ "$PWD" = "$ROOT" ] || joined=(-c "$ROOT/pyproject.toml" --rootdir "$ROOT" "$ROOT/suites")
    while [ $# -gt 0 ]; do
        case $1 in
            --layout | --stack-python | --reports-dir)
                if [ $# -gt 1 ]; then
                    joined+=("$1=$2")
                    shift
                else
                    joined+=("$1")
                fi
                ;;
            *) joined+=("$1") ;;
        esac
        shift
    done
    "$PYTHON" -m pytest ${joined[@]+"${joined[@]}"}
}
