"""Rank-side: one machine as two hosts, each with a mount namespace and a disk of its own where the folder is."""

from __future__ import annotations

import ctypes
import os
import subprocess
from typing import Any

from fixtures.scenarios import storage

_CLONE_NEWNS = 0x00020000


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Give this rank's host a disk of its own, then look at the storage as any rank does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # Ranks of one host would share a disk; here each host is one rank, so that a private one is the host's.
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", params["options"][ctx.rank], "tmpfs", params["folder"]], check=True)
    return storage.run(ctx, params)
