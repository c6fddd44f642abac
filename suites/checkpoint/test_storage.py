"""The folder for checkpoints before anything is trained: shared by all hosts, writable, with room, clean; clocks agree."""

from __future__ import annotations

import secrets

import pytest

from fixtures.cluster.failure import GangFailure
from fixtures.oracle import storage


@pytest.fixture(scope="session")
def storage_views(gang_pool, checkpoints):
    """``storage_views(case)``: what the ranks of a case see of --checkpoint-dir, looked at once for each case."""
    known = {}

    def look(case):
        if case.id not in known:
            params = {"case": case.to_json(), "folder": str(checkpoints.base), "token": secrets.token_hex(8), "patience": 5.0}
            try:
                known[case.id] = gang_pool.run("fixtures.scenarios.storage:run", case.layout.world, params)
            except GangFailure as failure:
                known[case.id] = failure
        if isinstance(known[case.id], GangFailure):
            pytest.fail(f"the case did not complete: {known[case.id]}", pytrace=False)
        return known[case.id]

    return look


@pytest.fixture
def views(case, storage_views, record_property):
    """What the ranks of the case see."""
    for name, value in (("case", f"{case.id}-storage"), ("architecture", case.architecture),
                        ("layout", f"{case.layout} storage"),
                        ("precision", case.precision), ("optimizer", case.optimizer), ("model_class", case.model_class),
                        ("world", case.layout.world)):  # fmt: skip
        record_property(name, value)
    return storage_views(case)


def _tell(check, sentences):
    check(sentences and f"{check.name}: " + "\n  ".join(sentences))


def test_storage_writable(case, views, check):
    _tell(check, storage.not_writable(views))


def test_storage_shared(case, views, check):
    """Every host sees what every other host wrote."""
    _tell(check, storage.not_shared(views))


def test_storage_room(case, views, check):
    """There is room for two checkpoints."""
    _tell(check, storage.no_room(views))


def test_storage_clean(case, views, check):
    """No shard files of a save that did not end."""
    _tell(check, storage.not_clean(views))


def test_clocks_agree(case, views, check):
    apart = max(abs(view["time"] - views[0]["time"]) for view in views)
    sentences = storage.clocks_apart(views)
    check(sentences and f"{check.name}: " + "\n  ".join(sentences), measured=apart, tolerance=storage.CLOCKS)
