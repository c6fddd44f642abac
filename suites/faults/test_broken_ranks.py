"""The promise of the gang: a killed, raising or sleeping rank is named, with its last collective, and the next case runs."""

import time

import psutil
import pytest

from fixtures.cluster.failure import GangFailure
from fixtures.cluster.pool import GangPool
from fixtures.plugin.wiring import PRELOAD

pytestmark = pytest.mark.faults

LAYOUT = "tp2pp2dp2"


@pytest.fixture
def gone(gang_pool):
    """Check, after a failure, that every rank of the broken gang is gone."""

    def check(pids):
        assert pids
        assert [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"] == []

    return check


def _pids_during(gang_pool, plant, fault):
    """Run a fault and return (failure, seconds, the ranks' process ids)."""
    plant("nothing", LAYOUT)  # so that the gang stands, and its ids are known
    pids = list(gang_pool.rank_pids)
    started = time.monotonic()
    with pytest.raises(GangFailure) as failure:
        plant(fault, LAYOUT)
    return failure.value, time.monotonic() - started, pids


def test_killed_rank_is_named_with_its_last_collective(gang_pool, plant, gone):
    failure, seconds, pids = _pids_during(gang_pool, plant, "killed")
    assert failure.kind == "died"
    assert failure.ranks == [3]
    lines = str(failure).splitlines()
    assert lines[0] == "rank 3 (tp1 dp1 pp0) was killed by SIGKILL"
    assert "last collective: " in lines[1]
    assert "of group" in lines[1]
    assert "phase: step 0: forward and backward" in lines[1]
    assert seconds < 10
    gone(pids)
    assert plant("nothing", LAYOUT) == {}


def test_raising_rank_is_named_and_its_output_is_shown(gang_pool, plant, gone):
    failure, seconds, pids = _pids_during(gang_pool, plant, "raises")
    assert failure.kind == "exception"
    assert failure.ranks == [2]
    text = str(failure)
    assert text.startswith("rank 2 (tp0 dp1 pp0) raised ValueError: planted on one rank")
    assert "this rank is about to raise" in text
    assert 'raise ValueError("planted on one rank")' in text
    assert seconds < 10
    gone(pids)
    assert plant("nothing", LAYOUT) == {}


def test_sleeping_rank_is_named_with_its_stack_within_the_time_out(request, tmp_path):
    # A pool of its own, with little patience.
    pool = GangPool(
        python=request.config.getoption("--stack-python"), preload=PRELOAD, run_dir=tmp_path / "pool", rank_timeout=4.0
    )
    try:
        pool.run("fixtures.scenarios.probe:echo", 4, {})
        started = time.monotonic()
        with pytest.raises(GangFailure) as failure:
            pool.run("fixtures.scenarios.probe:sleep_in_loop", 4, {"rank": 2})
        assert time.monotonic() - started < 4.0 + 5.0
        assert failure.value.kind == "timeout"
        assert failure.value.ranks == [2]
        text = str(failure.value)
        assert "no progress for 4 s: rank 2 did not enter all_reduce #4 of group [0, 1, 2, 3] (float32[16])" in text
        assert "ranks 0, 1, 3 wait in it" in text
        assert "asleep_for_ever" in text
        assert pool.run("fixtures.scenarios.probe:echo", 4, {}) == [{"rank": rank} for rank in range(4)]
    finally:
        pool.close()
    assert not (tmp_path / "pool").exists()


def test_stopped_rank_is_named(request, tmp_path):
    pool = GangPool(
        python=request.config.getoption("--stack-python"), preload=PRELOAD, run_dir=tmp_path / "pool", rank_timeout=3.0
    )
    try:
        with pytest.raises(GangFailure) as failure:
            pool.run("fixtures.scenarios.probe:stop_in_loop", 3, {"rank": 1})
        assert failure.value.ranks == [1]
        assert "rank 1 is stopped by a signal (SIGSTOP)" in str(failure.value)
    finally:
        pool.close()
