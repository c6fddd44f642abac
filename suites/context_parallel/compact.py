"""The rows of the table in few lines: one for each question, a word for each number of ranks, then the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from suites.context_parallel.probes import DEGREES, ENGINE
from suites.context_parallel.verdicts import WORKS

Row = Mapping[str, Any]


def compact(rows: Iterable[Row]) -> list[str]:
    """Return lines of text. Ways of Transformer Engine that end alike are one line; reasons have numbers."""
    words: dict[str, dict[int, str]] = {}
    reasons: dict[str, int] = {}
    for row in rows:
        word = row["result"]
        if word != WORKS:
            word += f" [{reasons.setdefault(row['why'], len(reasons) + 1)}]"
        words.setdefault(" ".join(filter(None, (row["what"], row["attention"], row["mechanism"]))), {})[row["cp"]] = word
    joined = _joined(words)
    if not joined:
        return []
    width = max(len(name) for name in joined)
    columns = [max(len(found.get(cp, "-")) for found in joined.values()) + 2 for cp in DEGREES]
    lines = [
        f"{name:<{width}}  "
        + "".join(f"{found.get(cp, '-'):<{size}}" for cp, size in zip(DEGREES, columns, strict=True)).rstrip()
        for name, found in joined.items()
    ]
    head = f"{'':<{width}}  " + "".join(f"{f'cp{cp}':<{size}}" for cp, size in zip(DEGREES, columns, strict=True)).rstrip()
    return [head, *lines, *(f"[{number}] {why}" for why, number in reasons.items())]


def _joined(words: dict[str, dict[int, str]]) -> dict[str, dict[int, str]]:
    """Return the words with the ways of Transformer Engine that end alike, for the same question, in one entry."""
    alike: dict[tuple[str, tuple[tuple[int, str], ...]], list[str]] = {}
    for name, found in words.items():
        question, engine, way = name.partition(ENGINE)
        alike.setdefault((question + engine, tuple(found.items())), []).append(way.strip())
    return {f"{question} {', '.join(filter(None, ways))}".strip(): dict(found) for (question, found), ways in alike.items()}
