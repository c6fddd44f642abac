"""What the page of a run shows, as plain values; the templates only lay it out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reports import table
from reports.junit import RUN_PROPERTIES, Result, Run
from reports.summary import headline, title
from reports.tables import Added, added

# A page stays readable: beyond this many cases those without a blemish are counted, beyond this many findings all others.
_CASES, _FINDINGS = 400, 100
_LINES, _LINE = 60, 500


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the heat map. ``style`` is one of the classes of the style sheet; the word says the same."""

    word: str
    number: str
    style: str


@dataclass(frozen=True, slots=True)
class MapRow:
    """One layout of a heat map."""

    label: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Layouts x checks of one group: an architecture with its precision and optimizer."""

    title: str
    checks: list[str]
    rows: list[MapRow]


@dataclass(frozen=True, slots=True)
class Cost:
    """Time and memory of a case; the shares are of the largest in the run, in per cent."""

    group: str
    label: str
    seconds: str
    seconds_share: int
    mebibytes: str
    mebibytes_share: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A failed check with what it says."""

    title: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """A known issue, and where it was seen."""

    title: str
    remedy: str
    where: list[str]


@dataclass(frozen=True, slots=True)
class View:
    """The whole page."""

    headline: str
    findings: list[Finding]
    more_findings: int
    maps: list[HeatMap]
    clean_cases: int
    tables: list[Added]
    bars: dict[str, list[int]]
    costs: list[Cost]
    known: list[Known]
    skips: list[tuple[str, int]]
    environment: list[tuple[str, str]]
    others: list[tuple[str, int]]


def view(run: Run) -> View:
    """Return what there is to show of a run."""
    failed = [result for result in run.results if result.outcome in ("failed", "error")]
    made = table.make(run.results)
    rows = made.rows if len(made.rows) <= _CASES else [row for row in made.rows if not row.clean][:_CASES]
    plain = Counter(table.CELLS[result.outcome] for result in run.results if not result.case)
    return View(
        headline=headline(run),
        findings=[_finding(result) for result in failed[:_FINDINGS]],
        more_findings=max(0, len(failed) - _FINDINGS),
        maps=_maps(made, rows, run.results),
        clean_cases=len(made.rows) - len(rows),
        tables=added(run.results),
        bars={made.name: shares for made in added(run.results) if (shares := _bars(made))},
        costs=_costs(rows),
        known=_known(run.results),
        skips=Counter(result.message for result in run.results if result.outcome == "skipped").most_common(),
        environment=[(name, run.properties[name]) for name in RUN_PROPERTIES if run.properties.get(name)],
        others=list(plain.items()),
    )


def _finding(result: Result) -> Finding:
    lines = result.message.strip("\n").splitlines() or ["(no message)"]
    more = [f"... {len(lines) - _LINES} more lines in the JUnit file"] if len(lines) > _LINES else []
    return Finding(title(result), table.CELLS[result.outcome], "\n".join(line[:_LINE] for line in lines[:_LINES] + more))


def _maps(made: table.Table, rows: Sequence[table.Row], results: Sequence[Result]) -> list[HeatMap]:
    used = {(result.case, result.check): result.used for result in results if result.case}
    maps: dict[str, HeatMap] = {}
    for row in rows:
        group = maps.setdefault(row.group, HeatMap(row.group or "cases", made.checks, []))
        cells = [_cell(word, used.get((row.case, check))) for check, word in zip(made.checks, row.cells, strict=True)]
        group.rows.append(MapRow(row.label, cells))
    # A check that no case of the group has would be an empty column.
    return [_without_empty_columns(group) for group in maps.values()]


def _without_empty_columns(group: HeatMap) -> HeatMap:
    kept = [column for column in range(len(group.checks)) if any(row.cells[column].word for row in group.rows)]
    rows = [MapRow(row.label, [row.cells[column] for column in kept]) for row in group.rows]
    return HeatMap(group.title, [group.checks[column] for column in kept], rows)


def _cell(word: str, used: float | None) -> Cell:
    styles = {"FAIL": "bad", "ERROR": "bad", "skip": "none", "known": "known", "...": "none", "": "none"}
    number = "" if used is None or not word else f"{used:.2g}"
    if word != "ok":
        return Cell(word, number if word == "FAIL" else "", styles[word])
    # The deeper the colour, the more of the tolerance is used.
    heat = 0 if used is None or used < 0.01 else 1 if used < 0.1 else 2 if used < 0.5 else 3
    return Cell(word, number, f"ok{heat}")


def _costs(rows: Sequence[table.Row]) -> list[Cost]:
    known = [(row, _number(row.seconds), _number(row.mebibytes)) for row in rows]
    most_seconds = max((seconds for _, seconds, _ in known), default=0.0) or 1.0
    most_memory = max((memory for *_, memory in known), default=0.0) or 1.0
    return [
        Cost(
            row.group,
            row.label,
            row.seconds,
            round(100 * seconds / most_seconds),
            row.mebibytes,
            round(100 * memory / most_memory),
        )
        for row, seconds, memory in known
        if row.seconds or row.mebibytes
    ]


def _bars(made: Added) -> list[int]:
    """Return how long the bar of each row is, in per cent, for a table with a column "total"; else nothing."""
    if "total" not in made.columns:
        return []
    totals = [_number(row[made.columns.index("total")]) for row in made.rows]
    return [round(100 * total / (max(totals) or 1.0)) for total in totals]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0


def _known(results: Sequence[Result]) -> list[Known]:
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.outcome == "xfailed":
            key = (result.message or "expected failure", result.own.get("known_issue_remedy", ""))
            found.setdefault(key, []).append(title(result))
    return [Known(words, remedy, where) for (words, remedy), where in found.items()]
