"""Text of tests, made safe for where it is shown: Markdown that may go into a CI job's summary, and a terminal."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    plain = html.escape(" ".join(text.split()), quote=False)
    # An underscore inside a word means nothing to Markdown, and names of checks are full of them.
    return re.sub(r"[\\`*\[\]|#~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", plain)


def row(cells: Iterable[str]) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(map(escaped, cells)) + " |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [row(head), "|" + " --- |" * len(head), *map(row, rows)]


def printable(text: str) -> str:
    """Return text on one line without control characters: a terminal would act on them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
