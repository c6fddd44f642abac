"""Turn the report of ``pytest -m detection`` into a page: which faults are caught, by which checks, and what is named.

``python -m reports.detection JUNIT > docs/detection.md``; exit code 2 when the file is unusable or has no such table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.junit import Run, UnusableReport, read
from reports.tables import added

TABLE = "detection"
_HEAD = ("fault", "what is wrong", "on", "result", "caught by", "module", "axis", "finding")


def page(run: Run) -> str:
    """Return the page in Markdown, every fault in it, with what was missed first.

    Raises:
        UnusableReport: the run has no faults in it.
    """
    table = next((table for table in added(run.results) if table.name == TABLE), None)
    if table is None:
        raise UnusableReport("no faults in it: make the file with `pytest -m detection`")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return "\n".join(_lines(rows)) + "\n"


def _lines(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    results = Counter(row["result"] for row in rows)
    caught = len(rows) - results["missed"]
    yield "# Detection: which faults the checks catch"
    yield ""
    yield "Made by `python -m reports.detection` from a run of `pytest -m detection`; not written by hand."
    yield ""
    yield "Each fault is a narrow patch of the installed stack inside a gang of its own: one file each in"
    yield "`suites/detection/catalogue`. The ordinary checks judge the run. *Caught*: every check that the fault's file names"
    yield "fails. *Localised*: one of these findings names the module and the axis that the file expects. A fault that is"
    yield "missed stays in the table. Where no axis is expected, the fault shows in every layout."
    yield ""
    yield f"**{len(rows)} faults: {caught} caught, {results['missed']} missed, {results['localised']} localised"
    yield f"({results['localised'] / len(rows):.1%}).**"
    for area in sorted({row["area"] for row in rows}, key=lambda area: [row["area"] for row in rows].index(area)):
        yield ""
        yield f"## {area[:1].upper()}{area[1:]}"
        yield ""
        yield f"| {' | '.join(_HEAD)} |"
        yield f"|{' --- |' * len(_HEAD)}"
        mine = [row for row in rows if row["area"] == area]
        for row in sorted(mine, key=lambda row: ("missed", "caught", "localised").index(row["result"])):
            wrong = row["wrong"] + (f" ({row['reference']})" if row.get("reference") else "")
            finding = row["finding"] if row["result"] != "missed" else "missed" + (f": {row['gap']}" if row["gap"] else "")
            cells = [row["fault"], wrong, row["on"], row["result"], row["caught by"], row["module"], row["axis"], finding]
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m reports.detection", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("junit", type=Path, help="junit.xml of a run of pytest -m detection")
    file: Path = parser.parse_args(arguments).junit
    try:
        print(page(read(file)), end="")
    except UnusableReport as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
