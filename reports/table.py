"""The layout x check table, as rows of short cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.junit import Result

CELLS = {"passed": "ok", "failed": "FAIL", "error": "ERROR", "skipped": "skip", "xfailed": "known"}


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` has for each case its id, one cell for each of ``checks``, and the largest part of a tolerance used."""

    checks: list[str]
    rows: list[tuple[str, list[str], float | None]]


def make(results: Sequence[Result]) -> Table:
    """Return the table of all results that check a case; cases and checks in the order in which they came."""
    checks = list(dict.fromkeys(result.check for result in results if result.case and result.check))
    cases: dict[str, dict[str, Result]] = {}
    for result in results:
        if result.case and result.check:
            cases.setdefault(result.case, {})[result.check] = result
    rows = []
    for case, found in cases.items():
        used = [result.used for result in found.values() if result.used is not None]
        cells = [CELLS[found[check].outcome] if check in found else "" for check in checks if check]
        rows.append((case, cells, max(used) if used else None))
    return Table([check for check in checks if check], rows)
