"""A short Markdown summary of a JUnit file: the verdict, what failed and why, the table, the environment.

``python -m reports.summary FILE.xml [-o OUT.md]``; exit code 2 when the file is unusable.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from reports import markup, table
from reports.junit import RUN_PROPERTIES, Result, Run, UnusableReport, read
from reports.markup import escaped
from reports.tables import added

# Findings are told in full up to this many, and lines each; the JUnit file has them all.
_FINDINGS, _LINES, _LINE = 20, 14, 400


def markdown(run: Run) -> str:
    """Return the summary as Markdown; text of tests is escaped."""
    parts = [f"# Meshgate: {run.verdict}", "", escaped(headline(run)), ""]
    failed = [result for result in run.results if result.outcome in ("failed", "error")]
    if failed:
        parts += ["## Findings", ""]
        for result in failed[:_FINDINGS]:
            parts += [f"**{escaped(title(result))}**", "", *_finding(result.message), ""]
        if len(failed) > _FINDINGS:
            parts += [f"... and {len(failed) - _FINDINGS} more, in the JUnit file", ""]
    parts += _table(run)
    for table_added in added(run.results):
        parts += [f"## {escaped(table_added.name)}", "", *markup.table(table_added.columns, table_added.rows), ""]
    for outcome, heading in (("skipped", "Skipped"), ("xfailed", "Known issues")):
        reasons = Counter(result.message for result in run.results if result.outcome == outcome)
        if reasons:
            parts += [f"## {heading}", "", *(f"- {count} x {escaped(reason)}" for reason, count in reasons.items()), ""]
    found = [(name, run.properties[name]) for name in RUN_PROPERTIES if run.properties.get(name)]
    if found:
        parts += ["## Environment", "", *(f"- {name}: {escaped(value)}" for name, value in found), ""]
    return "\n".join(parts)


def headline(run: Run) -> str:
    """Return one sentence: what was checked, and how it went."""
    made = table.make(run.results)
    words = {"passed": "passed", "failed": "failed", "error": "in error", "skipped": "skipped", "xfailed": "known"}
    counts = [f"{run.count(outcome)} {word}" for outcome, word in words.items() if run.count(outcome)]
    text = ", ".join(counts) or "no test has a result"
    if made.rows:
        text = f"{many(len(made.checks), 'check')} of {many(len(made.rows), 'case')}: {text}"
        if made.used is not None:
            text += f"; largest error {made.used:.2g} of its tolerance"
    elif run.results:
        text += "; no case was checked"
    return f"{text}; {run.cut_short}" if run.cut_short else text


def many(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number} {what}{'s' * (number != 1)}"


def title(result: Result) -> str:
    """Return what a result is called: check and case, or the name of the test."""
    return f"{result.check}, {result.case}" if result.case else result.name


def _finding(message: str) -> list[str]:
    """Return the first lines of a message as a block that Markdown shows as it is: indented by four."""
    lines = message.strip("\n").splitlines() or ["(no message)"]
    more = [f"... {len(lines) - _LINES} more lines in the JUnit file"] if len(lines) > _LINES else []
    return [f"    {line[:_LINE].expandtabs(4)}" for line in lines[:_LINES] + more]


def _table(run: Run) -> list[str]:
    made = table.make(run.results)
    lines: list[str] = []
    group = None
    for row in made.rows:
        if row.group != group:
            group = row.group
            head = ["layout" if group else "case", *made.checks, "error / tolerance", "seconds", "MiB a rank"]
            lines += ["", *([f"### {escaped(group)}", ""] if group else []), *markup.table(head, [])]
        lines.append(
            markup.row([row.label, *row.cells, "" if row.used is None else f"{row.used:.2g}", row.seconds, row.mebibytes])
        )
    return ["## Checks", *lines, ""] if lines else []


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    return command("reports.summary", __doc__ or "", markdown, arguments)


def command(name: str, about: str, form: Callable[[Run], str], arguments: list[str] | None = None) -> int:
    """Run a command that turns a JUnit file into a text; returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("file", type=Path, help="JUnit file of a run")
    parser.add_argument("-o", "--output", type=Path, help="where to write; default: standard output")
    options = parser.parse_args(arguments)
    try:
        text = form(read(options.file))
        if options.output:
            options.output.write_text(text, encoding="utf-8")
        else:
            print(text)
    except UnusableReport as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{name}: {error.filename}: can't be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
