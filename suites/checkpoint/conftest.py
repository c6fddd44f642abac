"""Checks of this folder run on the ranks of layouts, and write checkpoints."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.case import Case
from fixtures.cluster.pool import GangPool
from fixtures.layout import Layout
from fixtures.plugin.wiring import PRELOAD


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: those of a pair or a case are multinode, those that damage something are faults."""
    for item in items:
        if "suites/checkpoint/" in item.nodeid:
            item.add_marker(pytest.mark.checkpoint)
            if {"pair", "same_pair", "case"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.multinode)
            else:
                item.add_marker(pytest.mark.faults)


class Store:
    """Checkpoints of a small layout, in a pool of gangs whose patience is short."""

    def __init__(self, pool: GangPool, folder: Path, case: Case) -> None:
        self.pool, self.folder, self.case = pool, folder, case
        self._saved: dict[tuple[str, bool], SimpleNamespace] = {}

    def run(self, function: str, world: int, **params) -> list:
        return self.pool.run(f"suites.checkpoint.damage:{function}", world, params)

    def save(self, architecture: str, folder: Path, snapshot: Path | None, **more) -> list:
        case = replace(self.case, architecture=architecture)
        where = {"folder": str(folder), "snapshot": None if snapshot is None else str(snapshot)}
        return self.run("save", case.layout.world, case=case.to_json(), **where, **more)

    def saved(self, architecture: str, integrity: bool) -> SimpleNamespace:
        """Return folders of a checkpoint and its snapshot, saved once, and why it was not saved, or None."""
        key = (architecture, integrity)
        if key not in self._saved:
            folder = self.folder / f"{architecture}{'-verified' if integrity else ''}"
            checkpoint, snapshot = folder / "checkpoint", folder / "snapshot"
            refused = self.save(architecture, checkpoint, snapshot, integrity=integrity)[0]["refused"]
            self._saved[key] = SimpleNamespace(checkpoint=checkpoint, snapshot=snapshot, refused=refused)
        return self._saved[key]

    def load(self, folder: Path, snapshot: str, marks: str, integrity: bool, parallel: bool = False) -> list:
        self.pool.discard(self.case.layout.world)  # a load that failed on some ranks may have left others in a collective
        where = {"folder": str(folder), "snapshot": snapshot, "marks": marks, "parallel": parallel}
        return self.run("load", self.case.layout.world, case=self.case.to_json(), integrity=integrity, **where)


@pytest.fixture(scope="session")
def checkpoint_store(request, tmp_path_factory):
    """Checkpoints to damage, in gangs that give up after 20 seconds."""
    folder = tmp_path_factory.mktemp("store")
    pool = GangPool(
        python=request.config.getoption("--stack-python"), preload=PRELOAD, run_dir=folder / "pool", rank_timeout=20.0
    )
    yield Store(pool, folder, Case("megatron-core", "llama", Layout.parse("tp2dp2"), "float32", "adam", "gpt", 1234))
    pool.close()
