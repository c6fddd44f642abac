"""What is read for a case, and how: one run in its layout, one in another, and one on a single rank. Controller side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle.batch import GLOBAL_BATCH

TEXT = "lower"
WEIGHTS = {"lower": 0.5, "upper": 0.3, "digits": 0.2}
# After one global batch: samples that were consumed before a run is resumed.
CONSUMED = GLOBAL_BATCH
EPOCH, OTHER_SEED, RESUMED, BLEND = range(4)

# scenario, number of ranks, parameters -> evidence of each rank
Run = Callable[[str, int, dict[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Reading:
    """``ranks``: of the case's layout; ``alone``: one rank's order, by read; ``elsewhere``: what ranks of another layout got
    after the case's layout had consumed :data:`CONSUMED` samples, None where that needs more ranks than there are.
    """

    layout: Layout
    ranks: list[dict[str, Any]]
    alone: list[dict[str, Any]]
    other: Layout
    elsewhere: list[dict[str, Any]] | None


def reads(seed: int) -> list[dict[str, Any]]:
    """Return what is read: an epoch, one with another seed, what is left of the first after CONSUMED samples, a blend."""
    epoch = {"corpora": [TEXT], "weights": None, "seed": seed, "consumed": 0}
    return [
        epoch,
        epoch | {"seed": seed + 1},
        epoch | {"consumed": CONSUMED},
        epoch | {"corpora": list(WEIGHTS), "weights": list(WEIGHTS.values())},
    ]


def another(layout: Layout) -> Layout:
    """Return a layout of as many ranks and another data parallel degree, where there is one: all ranks, or none, along dp."""
    if layout.dp < layout.world and GLOBAL_BATCH % (2 * layout.world) == 0:
        return Layout(dp=layout.world)
    return Layout(tp=layout.world) if layout.dp > 1 else Layout(dp=2)


def params(case: Case, layout: Layout, folder: Path, wanted: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameters of the scenario."""
    return {"stack": case.stack, "layout": str(layout), "seed": case.seed, "folder": str(folder), "reads": wanted}


def alone(run: Run, case: Case, folder: Path) -> list[dict[str, Any]]:
    """Return what a single rank reads."""
    return run("run", 1, params(case, Layout(), folder, reads(case.seed)[: OTHER_SEED + 1]))


def read(run: Run, case: Case, folder: Path, single: list[dict[str, Any]], available: int | None = None) -> Reading:
    """Read for a case, in its layout and in another, if there are that many ranks."""
    other = another(case.layout)
    wanted = reads(case.seed)
    ranks = run("run", case.layout.world, params(case, case.layout, folder, wanted))
    there = available is None or other.world <= available
    elsewhere = run("run", other.world, params(case, other, folder, [wanted[RESUMED]])) if there else None
    return Reading(case.layout, ranks, single, other, elsewhere)
