"""A judgement as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from reports.gate.judge import Judgement, Section
from reports.markup import escaped, printable, table

_ROWS, _WIDTH = 10, 150
_ROWS_MARKDOWN = 200


def terminal(judgement: Judgement) -> Iterator[str]:
    """Yield lines: the verdict, then what rejects, then what else changed."""
    yield f"verdict: {judgement.verdict} - {printable(judgement.why)}"
    for name, told in judgement.runs:
        yield f"  {name + ':':<10} {printable(told)}"
    for note in judgement.notes[:_ROWS]:
        yield f"  note: {printable(note)}"
    if len(judgement.notes) > _ROWS:
        yield f"  ... and {len(judgement.notes) - _ROWS} more notes"
    for section in judgement.sections:
        yield ""
        yield f"{section.title}: {section.count}{' (rejects)' if section.rejects else ''}"
        for row in section.rows[:_ROWS]:
            line = f"  {printable(_row(section, row))}"
            yield line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."
        if len(section.rows) > _ROWS:
            yield f"  ... and {len(section.rows) - _ROWS} more; --markdown FILE or --html FILE has them"


def _row(section: Section, row: tuple[str, ...]) -> str:
    if section.head[0] == "what":
        what, before, after, ratio = row
        return f"{what}: {before} -> {after}{f' ({ratio})' if ratio else ''}"
    title, was, now, finding = row
    return f"{title}: {was} -> {now}{f': {finding}' if finding else ''}"


def markdown(judgement: Judgement) -> str:
    """Return the judgement as Markdown; text of tests is escaped."""
    lines = [f"# Meshgate gate: {judgement.verdict}", "", escaped(judgement.why), ""]
    lines += [f"- {name}: {escaped(told)}" for name, told in judgement.runs]
    lines += [f"- note: {escaped(note)}" for note in judgement.notes[:_ROWS_MARKDOWN]]
    for section in judgement.sections:
        lines += ["", f"## {section.title}: {section.count}{' (rejects)' if section.rejects else ''}", ""]
        lines += table(section.head, section.rows[:_ROWS_MARKDOWN])
        if len(section.rows) > _ROWS_MARKDOWN:
            lines += ["", f"... and {len(section.rows) - _ROWS_MARKDOWN} more"]
    lines += [
        "",
        "## All tests",
        "",
        *table(["class", "tests"], [(name, str(count)) for name, count in judgement.counts if count]),
    ]
    return "\n".join(lines) + "\n"
