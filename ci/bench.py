"""Time the main job (pytest, one case, all checks) against the bare case (start, fork, build, three steps, no checks).

Both are whole processes, from start to exit, one after the other; of several repetitions the fastest of each counts,
since other work on the machine only ever adds. Exit code: 0 within both limits, 1 over one of them or a check failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The bare case, run in a process of its own: argv is layout, architecture, precision.
_BARE = """
import sys, tempfile
from pathlib import Path
from fixtures.case import Case
from fixtures.cluster.pool import GangPool
from fixtures.layout import Layout
from fixtures.plugin.wiring import PRELOAD

layout, architecture, precision = sys.argv[1:]
case = Case("megatron-core", architecture, Layout.parse(layout), precision, "adam", "gpt", 1234)
run_dir = Path(tempfile.mkdtemp(prefix="meshgate-bench-"))
pool = GangPool(python=sys.executable, preload=PRELOAD, run_dir=run_dir, rank_timeout=120.0)
try:
    pool.run("fixtures.scenarios.bare:run", case.layout.world, {"case": case.to_json()})
finally:
    pool.close()
"""


def seconds(what: str, command: list[str]) -> float:
    """Run a command in the checkout and return its wall time.

    Raises:
        SystemExit: it failed; the message has the end of what it printed.
    """
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(
            f"{done.stdout[-4000:]}\nci/bench: {what} failed with exit code {done.returncode}; its output is above"
        )
    return took


def report(main: float, bare: float, limit: float, ratio: float) -> tuple[str, bool]:
    """Return the lines to print, and whether both limits hold. Times in seconds."""
    good = main <= limit and main <= ratio * bare
    lines = [
        f"bare case (start, fork, build, 3 steps): {bare:6.2f} s",
        f"main job (all checks):                   {main:6.2f} s, limit {limit:g} s",
        f"ratio:                                   {main / bare:6.2f}, limit {ratio:g}",
    ]
    return "\n".join(lines), good


def main() -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="ci/bench", description="time the main job against the bare case")
    parser.add_argument("--layout", default="tp2pp2cp2dp2", help="one layout; default tp2pp2cp2dp2")
    parser.add_argument("--architecture", default="llama", help="default llama")
    parser.add_argument("--precision", default="float64", help="default float64")
    parser.add_argument("--repeat", type=int, default=2, metavar="N", help="times each; default 2")
    parser.add_argument("--limit", type=float, default=15.0, metavar="SECONDS", help="for the main job; default 15")
    parser.add_argument("--ratio", type=float, default=2.0, metavar="R", help="main job over bare case; default 2")
    options = parser.parse_args()
    what = [options.layout, options.architecture, options.precision]
    bare_times, main_times = [], []
    with tempfile.TemporaryDirectory() as folder:
        job = [sys.executable, "-m", "pytest", "-q", "-m", "multinode", f"--reports-dir={folder}"]
        job += [f"--{name}={value}" for name, value in zip(("layout", "architecture", "precision"), what, strict=True)]
        for _ in range(max(1, options.repeat)):
            bare_times.append(seconds("the bare case", [sys.executable, "-c", _BARE, *what]))
            main_times.append(seconds("the main job", job))
    text, good = report(min(main_times), min(bare_times), options.limit, options.ratio)
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
