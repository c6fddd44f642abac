"""Several JUnit files as one run: nothing lost, nothing counted twice, no bad result hidden by a good one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.junit import BOOKKEEPING, RUN_PROPERTIES, Result, Run, number_in, worst_status

# From best to worst. A test that failed and whose fixture then broke has two results: the finding is the one to keep.
_ORDER = ("passed", "xfailed", "skipped", "unfinished", "error", "failed")


@dataclass(frozen=True, slots=True)
class Merged:
    """One run made of several.

    picks: for each result of ``run``, the part that it comes from and its position there.
    first: the same of the first result of each of its tests; ``run`` is in this order.
    notes: what a reader has to know about the parts, one line each.
    """

    run: Run
    picks: list[tuple[int, int]]
    first: list[tuple[int, int]]
    notes: list[str]


def merge(runs: Sequence[Run], rerun: bool = False) -> Merged:
    """Return the run that the parts make up.

    A test with several results counts once, with the worst of them; with ``rerun`` the parts are declared to be one
    run and reruns of its tests, in this order, and the last result counts.
    """
    chosen: dict[str, tuple[int, int]] = {}
    first: list[tuple[int, int]] = []
    differing: dict[str, set[str]] = {}
    for part, run in enumerate(runs):
        for position, result in enumerate(run.results):
            if result.name not in chosen:
                chosen[result.name] = (part, position)
                first.append((part, position))
                continue
            other = runs[chosen[result.name][0]].results[chosen[result.name][1]]
            if other.outcome != result.outcome:
                differing.setdefault(result.name, {other.outcome}).add(result.outcome)
            if rerun or _badness(result) > _badness(other):
                chosen[result.name] = (part, position)
    picks = list(chosen.values())
    results = [runs[part].results[position] for part, position in picks]
    properties = {name: value for run in runs for name, value in run.properties.items() if name not in BOOKKEEPING}
    properties |= _ends(runs, results, rerun)
    kept = "the last counts" if rerun else "the worst counts"
    notes = [
        f"{name}: {', '.join(sorted(outcomes, key=_ORDER.index))} in different results; {kept}"
        for name, outcomes in differing.items()
    ]
    return Merged(Run(results, properties), picks, first, _mixed(runs) + notes)


def _badness(result: Result) -> tuple[int, float]:
    used = result.used
    return _ORDER.index(result.outcome), -1.0 if used is None else used


def _mixed(runs: Sequence[Run]) -> list[str]:
    """Say which properties of a whole run the parts do not share: they may be parts of different runs."""
    notes = []
    for name in RUN_PROPERTIES:
        values = dict.fromkeys(run.properties[name] for run in runs if name in run.properties)
        if len(values) > 1 and name != "host":  # parts from several nodes are what merging is for
            notes.append(f"the parts do not have the same {name}: {', '.join(values)}")
    return notes


def _ends(runs: Sequence[Run], results: Sequence[Result], rerun: bool) -> dict[str, str]:
    """Return how the whole run ended."""
    selected = [number_in(run.properties.get("selected", "")) for run in runs]
    names = [len({result.name for result in run.results}) for run in runs]
    total: int | None = None
    if any(number is not None for number in selected):
        if rerun:
            total = max(len(results), *(number or 0 for number in selected))
        else:
            # Which tests a part lacks is not known, so that no other part can be said to have them.
            total = len(results) + sum(
                max(0, number - has) for number, has in zip(selected, names, strict=True) if number is not None
            )
    # A rerun makes good for an earlier part that was cut short, where it is known what that part was to run.
    last = len(runs) - 1
    ending = [run for n, run in enumerate(runs) if not rerun or n == last or selected[n] is None]
    words = dict.fromkeys(run.properties["interrupted"] for run in ending if run.properties.get("interrupted"))
    ends = {
        "selected": "" if total is None else str(total),
        "exit_status": worst_status([run.properties.get("exit_status", "") for run in ending]),
        "interrupted": "; ".join(words),
    }
    return {name: value for name, value in ends.items() if value}
