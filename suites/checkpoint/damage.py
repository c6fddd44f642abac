"""Rank-side: saves checkpoints, damages their files, dies while saving, and tries to load what is left."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import CheckpointException  # no Exception, but a BaseException

from fixtures.oracle.checkpoint_files import problems
from fixtures.oracle.snapshot import Snapshot, digests_of
from fixtures.scenarios.checkpoint import AFTER, BEFORE, SAMPLES, train, write_snapshot
from fixtures.scenarios.training import open_case


def save(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Train one step and save into ``folder``, and a snapshot, where ``snapshot`` is not None.

    ``die_on``: this rank kills itself when its own files are written and nothing has been made valid yet.
    """
    folder = Path(params["folder"])
    case = params["case"]
    with open_case(case) as (stack, layout, architecture, model):
        state = stack.checkpointing(model, SAMPLES, BEFORE + AFTER)
        train(ctx, case, layout, architecture, model, state, stack.rank_groups()["dp"].index(ctx.rank), 0)
        if params["snapshot"] is not None:
            write_snapshot(ctx, Path(params["snapshot"]), state)
        if ctx.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
        torch.distributed.barrier()
        if params.get("die_on") == ctx.rank:
            _die_after_writing()
        started = time.monotonic()
        try:
            state.save(folder, None, True, False, params.get("integrity", False))
        except (Exception, CheckpointException) as error:
            return {"refused": f"{type(error).__name__}: {error}", "seconds": time.monotonic() - started}
    return {"refused": None, "seconds": time.monotonic() - started}


def _die_after_writing() -> None:
    """Have this process killed where the stack collects what its writers have written."""
    from megatron.core.dist_checkpointing.strategies.filesystem_async import FileSystemWriterAsync

    def die(*_args: Any, **_kwargs: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    FileSystemWriterAsync.retrieve_write_results = die  # type: ignore[method-assign]


def load(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Load ``folder``: what the stack said, or how many tensors are not what ``snapshot`` has."""
    found: dict[str, Any] = {"refused": None, "wrong": 0, "problems": []}
    snapshot = Snapshot(Path(params["snapshot"]))
    if ctx.rank == 0:
        snapshot.make_marks(params["marks"])
    torch.distributed.barrier()
    with open_case({**params["case"], "seed": params["case"]["seed"] + 1}) as (stack, _layout, _architecture, model):
        state = stack.checkpointing(model, SAMPLES, BEFORE + AFTER)
        before = digests_of(state.held())
        started = time.monotonic()
        try:
            state.load(Path(params["folder"]), params["parallel"], params.get("integrity", False))
        except (Exception, CheckpointException) as error:
            found["refused"] = f"{type(error).__name__}: {error}"
        else:
            compared = snapshot.compare(state.held(), params["marks"], before)
            found["wrong"], found["compared"] = compared["wrong_tensors"], compared["tensors"]
        found["seconds"] = time.monotonic() - started
        if ctx.rank == 0:
            expected = {shard.key: shard.global_shape for shard in model.shards}
            found["problems"] = problems(Path(params["folder"]), expected)
    return found


def inject(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Copy the checkpoint ``folder`` to ``damaged`` and damage the copy; returns the names of the files that were hit."""
    folder = Path(params["damaged"])
    shutil.copytree(params["folder"], folder)
    if not params["damage"]:
        return {"files": []}
    files = globals()[f"_{params['damage'].replace('-', '_')}"](folder)
    return {"files": files}


def _shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.distcp"))


def _truncated_shard(folder: Path) -> list[str]:
    victim = _shards(folder)[-1]
    os.truncate(victim, victim.stat().st_size * 2 // 3)
    return [victim.name]


def _missing_shard(folder: Path) -> list[str]:
    victim = _shards(folder)[1]
    victim.unlink()
    return [victim.name]


def _swapped_shards(folder: Path) -> list[str]:
    first, second = _shards(folder)[0], _shards(folder)[-1]
    first.rename(folder / "kept")
    second.rename(first)
    (folder / "kept").rename(second)
    return [first.name, second.name]


def _flipped_bit(folder: Path) -> list[str]:
    """Flip one bit of a weight, in the middle of its numbers."""
    with (folder / ".metadata").open("rb") as file:
        metadata = pickle.load(file)
    info = next(info for key, info in metadata.storage_data.items() if "linear_fc2" in key.fqn and "optimizer" not in key.fqn)
    victim = folder / info.relative_path
    data = bytearray(victim.read_bytes())
    # Of an archive of one tensor, nearly all is its numbers: a third from the start is among them.
    data[info.offset + info.length // 2] ^= 0x10
    victim.write_bytes(data)
    return [victim.name]


def _missing_index(folder: Path) -> list[str]:
    (folder / ".metadata").unlink()
    return [".metadata"]


def _missing_format(folder: Path) -> list[str]:
    (folder / "metadata.json").unlink()
    return ["metadata.json"]


def _missing_common(folder: Path) -> list[str]:
    common = folder / "common.pt"
    if not common.exists():
        return []
    common.unlink()
    return ["common.pt"]


def _newer_format(folder: Path) -> list[str]:
    path = folder / "metadata.json"
    document = json.loads(path.read_text())
    document["sharded_backend_version"] = 99
    path.write_text(json.dumps(document))
    return ["metadata.json"]


def _other_architecture(folder: Path) -> list[str]:
    return [folder.name]  # the checkpoint that is given is another model's
