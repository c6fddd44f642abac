"""Storage that is not shared, not writable, too small or dirty, and clocks that are apart: each is said in words.

Two ranks stand for two hosts. Where root may, each gets a mount namespace and a disk of its own.
"""

from __future__ import annotations

import os
import time

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle import storage

CASE = Case("megatron-core", "llama", Layout.parse("dp2"), "bfloat16", "adam", "gpt", 1234)


@pytest.fixture
def look(checkpoint_store, tmp_path):
    """``look(scenario, **more)``: what two ranks, hosts A and B, see of one folder name."""

    def run(scenario, **more):
        (tmp_path / "ckpt").mkdir(exist_ok=True)
        params = {"case": CASE.to_json(), "folder": str(tmp_path / "ckpt"), "token": "t0", "patience": 1.0, "hosts": ["A", "B"]}
        try:
            return checkpoint_store.pool.run(f"{scenario}:run", 2, {**params, **more})
        finally:
            checkpoint_store.pool.discard(2)  # their mounts are theirs, and end with them

    return run


@pytest.fixture
def two_disks(look):
    if os.geteuid() != 0:
        pytest.skip("a disk for each host needs root")

    def run(first, second):
        return look("suites.checkpoint.two_hosts", options=[first, second])

    return run


def _all(views):
    return {
        name: getattr(storage, name)(views) for name in ("not_shared", "not_writable", "no_room", "not_clean", "clocks_apart")
    }


def test_one_folder_for_both_hosts_is_good(look, tmp_path):
    views = look("fixtures.scenarios.storage")
    assert _all(views) == {"not_shared": [], "not_writable": [], "no_room": [], "not_clean": [], "clocks_apart": []}
    assert [view["leader"] for view in views] == [True, True]
    # Weights in bfloat16, two moments and master weights in float32: 14 bytes for each of the model's parameters.
    assert views[0]["needed_bytes"] == views[1]["needed_bytes"] == 14 * 90656
    assert list((tmp_path / "ckpt").iterdir()) == []


def test_each_host_with_its_own_disk_is_not_shared(two_disks, tmp_path):
    started = time.monotonic()
    views = two_disks("size=64m", "size=64m")
    assert time.monotonic() - started < 15
    found = _all(views)
    folder = tmp_path / "ckpt"
    assert [sentence.split(";")[0] for sentence in found.pop("not_shared")] == [
        f"{folder} on host A does not show what host B wrote: not shared storage",
        f"{folder} on host B does not show what host A wrote: not shared storage",
    ]
    assert not any(found.values())


def test_read_only_storage(two_disks, tmp_path):
    views = two_disks("size=64m", "ro,size=64m")
    found = storage.not_writable(views)
    assert found == [
        f"{tmp_path / 'ckpt'} on host B can't be written: Read-only file system; give a folder that every host can write"
    ]


def test_too_little_space(two_disks, tmp_path):
    found = storage.no_room(two_disks("size=64m", "size=1m"))
    assert len(found) == 1
    assert found[0].startswith(
        f"{tmp_path / 'ckpt'} on host B has 1020.0 KiB free, and a checkpoint takes about 1.2 MiB, two of them"
    )
    assert found[0].endswith("free space, or give another folder")


def test_files_of_an_older_save_that_did_not_end(look, checkpoint_store, tmp_path):
    checkpoint_store.saved("llama", False)
    whole = checkpoint_store.saved("llama", False).checkpoint
    for name, files in (("iter_1", list(whole.iterdir())), ("iter_2", list(whole.glob("*.distcp")))):
        (tmp_path / "ckpt" / name).mkdir(parents=True)
        for file in files:
            (tmp_path / "ckpt" / name / file.name).write_bytes(file.read_bytes())
    found = storage.not_clean(look("fixtures.scenarios.storage"))
    assert len(found) == 1
    assert found[0].startswith(f"{tmp_path / 'ckpt' / 'iter_2'} (seen by host ")
    assert "has shard files of a save that did not end, without its index; remove them" in found[0]


@pytest.mark.parametrize(("off", "words"), [(90.0, "ahead of"), (-90.0, "behind")])
def test_clocks_that_are_apart(look, off, words):
    found = storage.clocks_apart(look("fixtures.scenarios.storage", clocks=[0.0, off]))
    assert len(found) == 1
    assert found[0].startswith("the clock of host B is ")
    assert f" s {words} that of A; start time synchronisation (NTP, chrony) there" in found[0]
    assert abs(float(found[0].split(" is ")[1].split(" s ")[0]) - 90) < 2
