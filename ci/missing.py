"""What an environment lacks. Run by the interpreter of that environment; needs nothing but Python.

``python ci/missing.py FOLDER FILE...`` reads requirement files and writes into FOLDER ``requirements.txt`` (those that
are not installed) and ``constraints.txt`` (what is installed stays as it is; the rest has the versions of
ci/constraints.txt). The exit code is 0 when nothing is missing, 1 otherwise.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib import metadata
from pathlib import Path

# Distributions that may be there without metadata, as a checkout on PYTHONPATH, and the module that tells.
_MODULES = {"torch": "torch", "megatron-core": "megatron.core"}
# Versions that pip accepts (PEP 440); those of some system packages are not among them.
_VERSION = re.compile(r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?")


def lines(path: Path) -> list[str]:
    """Return the lines of a requirement or constraint file without comments."""
    return [line for line in (text.split("#")[0].strip() for text in path.read_text().splitlines()) if line]


def name_of(line: str) -> str:
    """Return the normalised name of a requirement: ``Typing_Extensions>=4`` is ``typing-extensions``."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]).lower()


def installed() -> dict[str, str]:
    """Return name and version of all installed distributions; the first on the path counts, as for imports."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name, version = distribution.metadata["Name"], distribution.version
        if name and version:
            found.setdefault(name_of(name), version)
    return found


def importable(name: str) -> bool:
    """Whether a distribution without metadata is there as a module. Imports at most its parent package."""
    try:
        return name in _MODULES and importlib.util.find_spec(_MODULES[name]) is not None
    except ImportError:
        return False


def main(folder: Path, files: list[Path]) -> int:
    """Write the two files; return the exit code."""
    there = installed()
    wanted = [line for path in files for line in lines(path)]
    missing = [line for line in wanted if name_of(line) not in there and not importable(name_of(line))]
    pins = [line for line in lines(Path(__file__).with_name("constraints.txt")) if name_of(line) not in there]
    kept = [f"{name}=={version}" for name, version in sorted(there.items()) if _VERSION.fullmatch(version)]
    (folder / "requirements.txt").write_text("".join(f"{line}\n" for line in missing))
    (folder / "constraints.txt").write_text("".join(f"{line}\n" for line in [*pins, *kept]))
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))
