"""Tables that suites add to reports: each property ``table:<name>`` of a test is one row, a JSON object {column: cell}."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.junit import Result
from reports.xml import ROW_END, TABLE


@dataclass(frozen=True, slots=True)
class Added:
    """One table: columns in the order in which they first came; a row without a column has "" there."""

    name: str
    columns: list[str]
    rows: list[list[str]]


def added(results: Sequence[Result]) -> list[Added]:
    """Return the tables that the tests add, by the order in which they first came. The same row counts once."""
    found: dict[str, dict[tuple[tuple[str, str], ...], None]] = {}
    for result in results:
        for name, value in result.own.items():
            if name.startswith(TABLE):
                rows = found.setdefault(name.removeprefix(TABLE).strip() or "table", {})
                for text in value.split(ROW_END):
                    rows[tuple(_row(text).items())] = None
    tables = []
    for name, rows in found.items():
        columns = list(dict.fromkeys(column for row in rows for column, _ in row))
        tables.append(Added(name, columns, [[dict(row).get(column, "") for column in columns] for row in rows]))
    return tables


def _row(text: str) -> dict[str, str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not value:
        return {"not a row": text}
    return {str(name): _cell(cell) for name, cell in value.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
