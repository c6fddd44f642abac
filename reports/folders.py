"""The folders of runs: their names, the link to the latest, and how many are kept."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

FILES = ("junit.xml", "summary.md", "report.html")
KEPT = 20

_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
# A folder without a JUnit file may be of a run that is still going on; after this time it is not.
_STALE = 24 * 3600


def new_name() -> str:
    """Return a name for the folder of a run that begins now. Names sort by time."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"


def point(link: Path, folder: Path) -> None:
    """Make ``link`` a symbolic link to the folder, in one step; where links are not possible, a copy of it."""
    temporary = link.with_name(f".latest-{secrets.token_hex(4)}")
    try:
        temporary.symlink_to(folder.name, target_is_directory=True)
        temporary.replace(link)
    except OSError:
        temporary.unlink(missing_ok=True)
        link.mkdir(exist_ok=True)
        for name in FILES:
            (link / name).unlink(missing_ok=True)
            if (folder / name).exists():
                shutil.copyfile(folder / name, link / name)


def prune(parent: Path) -> None:
    """Remove all but the last folders of runs: only those named as ours that hold our files and nothing else."""
    latest = (parent / "latest").resolve()
    with suppress(OSError):
        ours = sorted(path for path in parent.iterdir() if _NAME.fullmatch(path.name) and _is_ours(path))
        for folder in ours[:-KEPT]:
            if folder.resolve() != latest:
                _remove(folder)


def _is_ours(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    inside = list(folder.iterdir())
    return bool(inside) and all(path.name in FILES and path.is_file() and not path.is_symlink() for path in inside)


def _remove(folder: Path) -> None:
    with suppress(OSError):  # another run may remove it at the same time
        if not (folder / "junit.xml").exists() and time.time() - folder.stat().st_mtime < _STALE:
            return
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
