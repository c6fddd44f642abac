"""The layout x check table, as rows of short cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.junit import Result

CELLS = {"passed": "ok", "failed": "FAIL", "error": "ERROR", "skipped": "skip", "xfailed": "known", "unfinished": "..."}


@dataclass(frozen=True, slots=True)
class Row:
    """One case. ``cells`` has one word of CELLS for each check, "" where the case has no such check.

    group:   what rows beside it share: architecture, precision, optimizer.
    label:   its layout, or its whole id where that says more.
    used:    the largest part of a tolerance that one of its checks measured, None where no check has a number.
    seconds: of its run; mebibytes: the peak of the rank that took most. Empty where not known.
    """

    case: str
    group: str
    label: str
    cells: list[str]
    used: float | None
    seconds: str
    mebibytes: str

    @property
    def clean(self) -> bool:
        """Whether every check that it has is ok."""
        return all(cell in ("ok", "") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """One row for each case, one column for each of ``checks``."""

    checks: list[str]
    rows: list[Row]

    @property
    def used(self) -> float | None:
        """The largest part of a tolerance in any row."""
        return max((row.used for row in self.rows if row.used is not None), default=None)


def make(results: Sequence[Result]) -> Table:
    """Return the table of all results that check a case.

    Groups and cases are in the order in which they came; checks in that of their functions in the suite, since results of
    several xdist workers come in any order.
    """
    places: dict[str, tuple[str, int]] = {}
    cases: dict[str, dict[str, Result]] = {}
    for result in results:
        if result.case and result.check:
            places.setdefault(result.check, result.place)
            found = cases.setdefault(result.case, {})
            # Several results of one check: a failing one is never hidden by another.
            if result.check not in found or result.outcome in ("failed", "error"):
                found[result.check] = result
    checks = sorted(places, key=lambda check: places[check])
    rows = [_row(case, checks, found) for case, found in cases.items()]
    groups = list(dict.fromkeys(row.group for row in rows))
    return Table(checks, sorted(rows, key=lambda row: groups.index(row.group)))


def _row(case: str, checks: Sequence[str], found: dict[str, Result]) -> Row:
    shared: dict[str, str] = {}
    for result in found.values():
        shared |= result.properties
    parts = [shared.get(name, "") for name in ("architecture", "model_class", "precision", "optimizer")]
    group = " ".join(part for part in parts if part)
    used = [result.used for result in found.values() if result.used is not None]
    return Row(
        case=case,
        group=group,
        label=shared.get("layout", case) if group else case,
        cells=[CELLS[found[check].outcome] if check in found else "" for check in checks],
        used=max(used, default=None),
        seconds=shared.get("seconds", ""),
        mebibytes=shared.get("peak_memory_mib", ""),
    )
