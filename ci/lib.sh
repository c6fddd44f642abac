# Shared by ci/accept and ci/test: an environment with the pinned dependencies. Sourced, not run.
# After `prepare_environment ROOT PYTHON VENV [requirement files]`, $PYTHON is the interpreter to use.

fail() {
    echo "$1" >&2
    exit 4
}

# Print the interpreter to start from: $MESHGATE_PYTHON, else python3; refuse one older than 3.11.
base_python() {
    local python=${MESHGATE_PYTHON:-python3}
    command -v "$python" >/dev/null 2>&1 || fail "meshgate: no interpreter '$python'; install Python 3.11 or newer, or set MESHGATE_PYTHON"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "meshgate: $("$python" --version 2>&1) is too old; install Python 3.11 or newer, or set MESHGATE_PYTHON to one"
    command -v "$python"
}

has_distribution() {
    "$PYTHON" - "$@" <<'PROBE'
import importlib.metadata as metadata, sys
try:
    [metadata.version(name) for name in sys.argv[1:]]
except metadata.PackageNotFoundError:
    sys.exit(1)
PROBE
}

prepare_environment() {
    local root=$1 base=$2 venv=$3
    shift 3
    local files=("$@")
    if [ -n "${VIRTUAL_ENV:-}${CONDA_PREFIX:-}" ] || { [ -z "${venv}" ]; }; then
        # An environment is active: it is used as it is, and its own stack is never replaced.
        PYTHON=$(command -v python || command -v python3)
        if has_distribution torch megatron-core; then
            local kept=()
            for file in "${files[@]}"; do
                [ "$file" = requirements-stack.txt ] || kept+=("$file")
            done
            files=("${kept[@]}")
        fi
        install_pinned "$root" "${PYTHON%/*}/../.meshgate-stamp" free "${files[@]}"
        return
    fi
    if [ ! -x "$venv/bin/python" ]; then
        echo "meshgate: making the environment $venv"
        "$base" -m venv "$venv" || fail "meshgate: $base can't make a virtual environment; install its venv module (Debian: python3-venv)"
    fi
    PYTHON=$venv/bin/python
    install_pinned "$root" "$venv/.meshgate-stamp" pinned "${files[@]}"
}

# Install the requirement files, once for each content of them; pip's output is only shown when it fails.
install_pinned() {
    local root=$1 stamp=$2 mode=$3
    shift 3
    local arguments=() file wanted log
    for file in "$@"; do
        arguments+=(-r "$root/ci/$file")
    done
    if [ "$mode" = pinned ]; then
        arguments+=(-c "$root/ci/constraints.txt")
    fi
    wanted=$(cd "$root/ci" && { "$PYTHON" --version; echo "$mode"; cat constraints.txt "$@"; } | cksum)
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    echo "meshgate: installing dependencies (the first time this takes some minutes)"
    log=$(mktemp)
    if ! "$PYTHON" -m pip install --disable-pip-version-check "${arguments[@]}" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "meshgate: installing the dependencies failed; pip's output is above"
    fi
    rm -f "$log"
    echo "$wanted" 2>/dev/null >"$stamp" || true
}
