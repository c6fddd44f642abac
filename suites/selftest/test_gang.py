"""The gang: evidence in order, reuse, attribution of every kind of failure, and nothing left behind."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from fixtures.cluster import wire
from fixtures.cluster.failure import GangFailure
from fixtures.cluster.hub import Hub
from fixtures.cluster.pool import GangPool

pytestmark = pytest.mark.selftest

PROBE = "fixtures.scenarios.probe"
PRELOAD = ["fixtures.cluster.recording_on", "fixtures.cluster.rank"]


@pytest.fixture(scope="module")
def pool(request, tmp_path_factory):
    made = GangPool(
        python=request.config.getoption("--stack-python"),
        preload=PRELOAD,
        run_dir=tmp_path_factory.mktemp("pool") / "run",
        rank_timeout=3.0,
    )
    yield made
    made.close()


def alive(pids):
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def test_evidence_comes_in_rank_order_and_keeps_what_is_no_number(pool):
    assert pool.run(f"{PROBE}:echo", 3, {"x": 1}) == [{"rank": rank, "x": 1} for rank in range(3)]
    values = pool.run(f"{PROBE}:not_numbers", 1, {})[0]
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


def test_a_gang_is_reused_and_another_size_gets_its_own(pool):
    first = pool.run(f"{PROBE}:pids", 3, {})
    assert pool.run(f"{PROBE}:pids", 3, {}) == first
    assert sorted(pool.run(f"{PROBE}:pids", 2, {})) != sorted(first)[:2]
    assert pool.run(f"{PROBE}:sum_of_ranks", 3, {}) == [3.0] * 3
    assert len(pool.rank_pids) == 5


def test_one_rank_that_raises_is_named_before_its_victims(pool):
    before = list(pool.rank_pids)
    generation = pool.generation
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:raise_on", 3, {"rank": 1})
    assert (failure.value.kind, failure.value.ranks) == ("exception", [1])
    assert str(failure.value).startswith("rank 1 raised KeyError: 'only here'")
    assert alive(set(before) - set(pool.rank_pids)) == []
    assert pool.run(f"{PROBE}:sum_of_ranks", 3, {}) == [3.0] * 3
    assert pool.generation > generation


def test_killed_rank_is_named_with_its_last_collective(pool):
    started = time.monotonic()
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:kill_in_loop", 3, {"rank": 2})
    assert time.monotonic() - started < 8
    assert failure.value.ranks == [2]
    assert str(failure.value).startswith("rank 2 was killed by SIGKILL")
    assert "last collective: all_reduce #3 of group [0, 1, 2] (float32[16])" in str(failure.value)


@pytest.mark.parametrize(
    ("scenario", "rank", "words"),
    [
        (
            "different_shapes",
            1,
            ["different calls", "rank 1 in all_reduce #2 of group [0, 1, 2] (float32[8])", "(float32[16])"],
        ),
        ("leave_early", 0, ["rank 0 left the scenario early", "all_reduce #2"]),
        ("sleep_in_loop", 2, ["rank 2 did not enter all_reduce #4", "ranks 0, 1 wait in it", "asleep_for_ever"]),
    ],
)
def test_hangs_are_attributed(pool, scenario, rank, words):
    started = time.monotonic()
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:{scenario}", 3, {"rank": rank})
    assert time.monotonic() - started < 3.0 + 5.0
    assert rank in failure.value.ranks
    for word in words:
        assert word in str(failure.value)


def test_a_leaked_process_group_is_named(pool):
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:leak_group", 2, {})
    assert failure.value.kind == "leak"
    assert "rank 0 left 1 process groups open after fixtures.scenarios.probe:leak_group" in str(failure.value)


def test_a_module_that_is_missing_is_one_readable_line(tmp_path):
    pool = GangPool(python=sys.executable, preload=["no_such_stack"], run_dir=tmp_path / "run", rank_timeout=3.0)
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:echo", 1, {})
    pool.close()
    assert failure.value.kind == "start"
    assert failure.value.summary.startswith(f"no_such_stack can't be imported under {sys.executable}: ModuleNotFoundError")


def test_a_zygote_that_dies_is_replaced(pool):
    pool.run(f"{PROBE}:echo", 2, {})
    ranks = list(pool.rank_pids)
    os.kill(pool.zygote_pid, signal.SIGKILL)
    psutil.Process(pool.zygote_pid).wait(5)
    assert pool.run(f"{PROBE}:sum_of_ranks", 2, {}) == [1.0, 1.0]
    time.sleep(0.5)
    assert alive(ranks) == []


def test_a_zygote_that_dies_in_a_run_is_a_finding(pool):
    pool.run(f"{PROBE}:echo", 2, {})
    killer = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {pool.zygote_pid}"])
    with pytest.raises(GangFailure) as failure:
        pool.run(f"{PROBE}:wait_for_ever", 2, {})
    killer.wait()
    assert failure.value.kind in ("start", "died")
    assert pool.run(f"{PROBE}:sum_of_ranks", 2, {}) == [1.0, 1.0]


def test_a_stranger_without_the_token_is_refused():
    hub = Hub()
    try:
        assert hub.address[0] == "unix"
        stranger = socket.socket(socket.AF_UNIX)
        stranger.connect(hub.address[1])
        for _ in range(4):
            hub.poll(0.05)
        nonce = stranger.recv(wire.NONCE_BYTES)
        stranger.sendall(wire.encode(wire.greeting("another token", nonce, b"x" * 32, {"role": "rank"})))
        arrivals = [arrival for _ in range(4) for arrival in hub.poll(0.05)]
        assert arrivals == []
        assert hub.refused == 1
        assert stranger.recv(1) == b""
    finally:
        hub.close()


CONTROLLER = textwrap.dedent(
    """
    import json, sys
    from pathlib import Path
    from fixtures.cluster.pool import GangPool
    pool = GangPool(python=sys.argv[1], preload=["fixtures.cluster.recording_on", "fixtures.cluster.rank"],
                    run_dir=Path(sys.argv[2]), rank_timeout=30.0)
    pool.run("fixtures.scenarios.probe:echo", 3, {})
    print(json.dumps([pool.zygote_pid, *pool.rank_pids]), flush=True)
    assert "torch" not in sys.modules
    pool.run("fixtures.scenarios.probe:wait_for_ever", 3, {})
    """
)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_controller(request, tmp_path, signum):
    folder = Path(tempfile.mkdtemp(dir=tmp_path)) / "run"
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, request.config.getoption("--stack-python"), str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=request.config.rootpath,
    )  # fmt: skip
    pids = json.loads(controller.stdout.readline())
    assert len(alive(pids)) == 4
    time.sleep(0.5)
    controller.send_signal(signum)
    controller.wait(10)
    until = time.monotonic() + 5
    while (alive(pids) or folder.exists()) and time.monotonic() < until:
        time.sleep(0.1)
    assert alive(pids) == []
    assert not folder.exists()
