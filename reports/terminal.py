"""The layout x check table as lines of text for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator

from reports.table import Table

# For narrow terminals: one letter a cell, one number a check, and a legend.
_LETTERS = {"ok": ".", "FAIL": "F", "ERROR": "E", "skip": "s", "known": "k", "...": "-", "": " "}
_STYLES = {"ok": "green", "FAIL": "red", "ERROR": "red", "skip": "yellow", "known": "yellow"}
# Beyond this many rows, those in which every check is ok are counted, not shown.
_ROWS = 60

Piece = tuple[str, str]  # text, and the name of its colour or ""


def lines(table: Table, width: int) -> Iterator[list[Piece]]:
    """Yield the table's lines, none longer than ``width`` where labels allow that."""
    rows = table.rows if len(table.rows) <= _ROWS else [row for row in table.rows if not row.clean]
    if rows:
        label = 2 + max(len(row.label) for row in rows)
        names, letters = table.checks, False
        if label + sum(len(name) + 2 for name in names) + 8 > width:
            names, letters = [str(number + 1) for number in range(len(table.checks))], True
            yield from _legend(table.checks, width)
        widths = [max(len(name), 1 if letters else 5) for name in names]
        for columns in _blocks(widths, width - label - 10):
            yield [("".ljust(label), ""), *((f"  {names[c].ljust(widths[c])}", "") for c in columns), ("  err/tol", "")]
            group = None
            for row in rows:
                if row.group != group:
                    group = row.group
                    yield [(group, "bold")]
                line: list[Piece] = [(f"  {row.label}".ljust(label), "")]
                for column in columns:
                    cell = row.cells[column]
                    line.append(("  ", ""))
                    line.append(((_LETTERS[cell] if letters else cell).ljust(widths[column]), _STYLES.get(cell, "")))
                line.append(("" if row.used is None else f"  {row.used:.2g}", ""))
                yield line
    if len(rows) < len(table.rows):
        yield [(f"{'and ' if rows else ''}{len(table.rows) - len(rows)} cases with every check ok", "green")]


def _legend(checks: list[str], width: int) -> Iterator[list[Piece]]:
    words = [f"{number + 1} {check}" for number, check in enumerate(checks)]
    line = "checks:"
    for position, word in enumerate(words):
        word += "," if position < len(words) - 1 else ""
        if len(line) + len(word) + 1 > width:
            yield [(line, "")]
            line = "       "
        line += f" {word}"
    yield [(line, "")]
    yield [("cells:  . ok, F FAIL, E ERROR (the check could not be made), s skipped, k known issue, - unfinished", "")]


def _blocks(widths: list[int], width: int) -> Iterator[list[int]]:
    """Yield the columns in runs that fit; at least one a run."""
    block: list[int] = []
    for column, wide in enumerate(widths):
        if block and sum(widths[c] + 2 for c in block) + wide + 2 > width:
            yield block
            block = []
        block.append(column)
    yield block
