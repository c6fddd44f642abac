"""A whole pytest run whose ranks are killed from outside, or that is interrupted: verdict, JUnit file, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from junitparser import JUnitXml

pytestmark = pytest.mark.faults

BROKEN, NEXT = "tp2pp2dp2", "dp2"


@pytest.fixture
def run(request, tmp_path):
    """Start pytest on two layouts in a process of its own; its temporary files go where they can be counted."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "multinode",
            f"--layout={BROKEN}", f"--layout={NEXT}", f"--reports-dir={tmp_path / 'out'}",
            f"--stack-python={request.config.getoption('--stack-python')}",
        ],
        cwd=request.config.rootpath, env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    yield process, tmp_path
    if process.poll() is None:
        process.kill()
    process.wait()


def ranks_of(process, count):
    """Wait until the run has a gang of so many ranks in a step; return the processes of its ranks, and all of them."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        family = psutil.Process(process.pid).children(recursive=True)
        zygotes = [child for child in family if child.ppid() == process.pid]
        ranks = [child for child in family if child.ppid() in {zygote.pid for zygote in zygotes}]
        if len(ranks) == count:
            time.sleep(1.0)  # into the first step
            return ranks, family
        time.sleep(0.05)
    pytest.fail(f"no gang of {count} ranks within 60 s")


def outcomes(folder):
    """Return {layout: [(test, failure message or None)]} of the run's JUnit file."""
    found: dict[str, list] = {}
    for suite in JUnitXml.fromfile(str(folder / "out" / "latest" / "junit.xml")):
        for case in suite:
            layout = next((name for name in (BROKEN, NEXT) if f"llama-{name}-" in case.name), "")
            found.setdefault(layout, []).append((case.name, case.result[0].message if case.result else None))
    return found


def nothing_left(family, folder):
    until = time.monotonic() + 5
    while time.monotonic() < until and any(child.is_running() for child in family):
        time.sleep(0.1)
    assert [child for child in family if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
    assert [path.name for path in (folder / "tmp").iterdir() if path.name.startswith(("meshgate-", "mg-"))] == []


def test_rank_killed_from_outside_is_one_finding_and_the_next_case_runs(run):
    process, folder = run
    ranks, family = ranks_of(process, 8)
    killed = time.monotonic()
    ranks[5].kill()
    ranks[5].wait(10)
    while any(rank.is_running() for rank in ranks) and time.monotonic() < killed + 20:
        time.sleep(0.05)
    assert time.monotonic() - killed < 10  # the broken case is over, its ranks are gone
    process.communicate(timeout=120)
    assert process.returncode == 1
    found = outcomes(folder)
    whole = [message for _, message in found[BROKEN] if message and "was killed by SIGKILL" in message and "\n" in message]
    assert len(whole) == 1
    assert "the case did not complete: rank 5 (tp1 dp0 pp1) was killed by SIGKILL" in whole[0]
    assert "last collective: " in whole[0]
    others = [message or "" for _, message in found[BROKEN] if message != whole[0]]
    assert [told for told in others if "not checked: the case did not complete (rank 5 (tp1 dp0 pp1) was" not in told] == []
    assert len(found[NEXT]) == len(found[BROKEN])
    assert all(message is None for _, message in found[NEXT])
    nothing_left(family, folder)


def test_interrupt_leaves_a_junit_file_and_nothing_else(run):
    process, folder = run
    _, family = ranks_of(process, 8)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert time.monotonic() - sent < 10
    assert process.returncode == 2  # pytest's code for an interrupted run
    assert "verdict: ACCEPT" not in output
    assert (folder / "out" / "latest" / "junit.xml").exists()
    assert (folder / "out" / "latest" / "summary.md").read_text().startswith("# ")
    nothing_left(family, folder)
