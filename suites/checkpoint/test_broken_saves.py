"""A save that does not end leaves nothing that loads as if it had, and the checkpoint before it untouched."""

from __future__ import annotations

import subprocess
import time

import pytest

from fixtures.cluster.failure import GangFailure


def _previous_loads(store):
    previous = store.saved("llama", False)
    for found in store.load(previous.checkpoint, str(previous.snapshot), f"again-{time.monotonic_ns()}", False):
        assert found["refused"] is None
        assert found["compared"] > 0
        assert found["wrong"] == 0


def test_rank_killed_while_saving(checkpoint_store):
    store = checkpoint_store
    previous = store.saved("llama", False)
    folder = store.folder / "killed"
    started = time.monotonic()
    with pytest.raises(GangFailure) as caught:
        store.save("llama", folder, None, die_on=1)
    assert time.monotonic() - started < 15
    assert (caught.value.kind, caught.value.ranks) == ("died", [1])
    assert "rank 1" in caught.value.summary
    assert "SIGKILL" in caught.value.summary
    # The killed rank's own files are complete; what makes a checkpoint of them is not there.
    assert list(folder.glob("__1_*.distcp"))
    assert not (folder / "metadata.json").exists()
    for found in store.load(folder, str(previous.snapshot), "killed", False):
        assert found["refused"].startswith(f"DamagedCheckpoint: {folder / 'metadata.json'}: missing: the save did not end")
        assert "load an older checkpoint" in found["refused"]
    _previous_loads(store)


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small disk can't be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_disk_full_while_saving(checkpoint_store, small_disk):
    store = checkpoint_store
    started = time.monotonic()
    ranks = store.save("llama", small_disk / "checkpoint", None)
    assert time.monotonic() - started < 30
    for found in ranks:
        assert "No space left on device" in found["refused"]
        assert str(small_disk) in found["refused"]
        assert "free space, or give another folder" in found["refused"]
    assert not (small_disk / "checkpoint" / "metadata.json").exists()
    _previous_loads(store)
