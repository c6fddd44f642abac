"""A short Markdown summary of a JUnit file: the verdict, then what failed and why, then the table, then the environment.

``python -m reports.summary FILE.xml [-o OUT.md]``; exit code 2 when the file is unusable.
"""

from __future__ import annotations

import argparse
import html
import sys
from pathlib import Path

from reports import table
from reports.junit import RUN_PROPERTIES, Run, UnusableReport, read

# Findings are told in full up to this many, and lines each; the JUnit file has them all.
_FINDINGS, _LINES = 20, 14


def markdown(run: Run) -> str:
    """Return the summary as Markdown; text of tests is escaped."""
    parts = [f"# Meshgate: {run.verdict}", "", headline(run), ""]
    failed = [result for result in run.results if result.outcome in ("failed", "error")]
    if failed:
        parts += ["## Findings", ""]
        for result in failed[:_FINDINGS]:
            lines = result.message.strip().splitlines()
            more = [f"... {len(lines) - _LINES} more lines in the JUnit file"] if len(lines) > _LINES else []
            parts += [f"**{_text(result.name)}**", "", *(f"    {line}" for line in lines[:_LINES] + more), ""]
        if len(failed) > _FINDINGS:
            parts += [f"... and {len(failed) - _FINDINGS} more", ""]
    parts += _table(run)
    skipped = [result for result in run.results if result.outcome == "skipped"]
    if skipped:
        reasons: dict[str, int] = {}
        for result in skipped:
            reasons[result.message] = reasons.get(result.message, 0) + 1
        parts += ["## Skipped", "", *(f"- {count} x {_text(reason)}" for reason, count in reasons.items()), ""]
    found = [(name, run.properties[name]) for name in RUN_PROPERTIES if run.properties.get(name)]
    if found:
        parts += ["## Environment", "", *(f"- {name}: {_text(value)}" for name, value in found), ""]
    return "\n".join(parts)


def headline(run: Run) -> str:
    """Return one sentence: what was checked, and how it went."""
    made = table.make(run.results)
    counts = [f"{run.count(outcome)} {outcome}" for outcome in ("passed", "failed", "error", "skipped", "xfailed")]
    text = ", ".join(count for count in counts if not count.startswith("0 ")) or "no test ran"
    if made.rows:
        text = f"{len(made.rows)} case{'s' * (len(made.rows) != 1)} x {len(made.checks)} checks: {text}"
        used = [row[2] for row in made.rows if row[2] is not None]
        if used:
            text += f"; largest error {max(used):.2g} of its tolerance"
    return text + ("; the run was interrupted" if run.interrupted else "")


def _table(run: Run) -> list[str]:
    made = table.make(run.results)
    if not made.rows:
        return []
    head = ["case", *made.checks, "error / tolerance"]
    lines = ["## Checks", "", "| " + " | ".join(map(_text, head)) + " |", "|" + " --- |" * len(head)]
    for case, cells, used in made.rows:
        shown = "" if used is None else f"{used:.2g}"
        lines.append("| " + " | ".join(map(_text, [case, *cells, shown])) + " |")
    return [*lines, ""]


def _text(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    for character in "\\`*_[]|#":
        escaped = escaped.replace(character, "\\" + character)
    return escaped


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m reports.summary", description=__doc__)
    parser.add_argument("file", type=Path, help="JUnit file of a run")
    parser.add_argument("-o", "--output", type=Path, help="where to write; default: standard output")
    options = parser.parse_args(arguments)
    try:
        text = markdown(read(options.file))
    except UnusableReport as error:
        print(f"reports.summary: {error}", file=sys.stderr)
        return 2
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
