"""The promise of the gang: a killed, raising or sleeping rank is named, with its last collective, and the next case runs."""

import time

import psutil
import pytest

from fixtures.case import Case
from fixtures.cluster.failure import GangFailure
from fixtures.cluster.pool import GangPool
from fixtures.layout import Layout
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
    # Of this gang: the pool may keep another one, which lives on.
    pids = gang_pool.run("fixtures.scenarios.probe:pids", Layout.parse(LAYOUT).world, {})
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


def test_sleeping_rank_is_named_with_its_stack_within_the_time_out(request, runs, plant, tmp_path):
    plant("nothing", LAYOUT)  # makes the reference
    case = Case("megatron-core", "llama", Layout.parse(LAYOUT), "float64", "adam", "gpt", 1234)
    params = {"case": case.to_json(), "reference": str(runs.folder_of(case)), "fault": "asleep"}
    # A pool of its own, with little patience.
    pool = GangPool(
        python=request.config.getoption("--stack-python"), preload=PRELOAD, run_dir=tmp_path / "pool", rank_timeout=5.0
    )
    try:
        pool.run("fixtures.scenarios.probe:echo", 8, {})
        started = time.monotonic()
        with pytest.raises(GangFailure) as failure:
            pool.run("suites.faults.planted:run", 8, params)
        # It sleeps in the second microbatch: a second or two of work before, the time-out, and a second for the stacks.
        assert time.monotonic() - started < 5.0 + 10.0
        assert failure.value.kind == "timeout"
        assert failure.value.ranks == [1]
        text = str(failure.value)
        assert text.startswith("no progress for 5 s: rank 1 did not enter ")
        assert "last collective: " in text
        assert "in _asleep_for_ever" in text
        assert "phase: step 0: forward and backward" in text
        assert pool.run("fixtures.scenarios.probe:echo", 8, {}) == [{"rank": rank} for rank in range(8)]
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
