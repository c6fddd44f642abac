"""Merge the JUnit files of one run (of several nodes, of several jobs, of reruns) into one.

``python -m reports.merge OUT.xml IN.xml...``; exit code 2 when a file is unusable. Output of tests is kept as it is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from reports.junit import RUN_PROPERTIES, Run, UnusableReport, read
from reports.markup import printable
from reports.merging import Merged, merge
from reports.xml import Suite, walk

_NOTES = 20


def write(path: Path, merged: Merged, files: Sequence[Path]) -> None:
    """Write the merged run. The files are read again, so that not all of their output is in memory."""
    temporary = path.with_name(f"{path.name}.part")
    try:
        with temporary.open("w", encoding="utf-8") as out:
            out.writelines(_document(merged, files))
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _document(merged: Merged, files: Sequence[Path]) -> Iterator[str]:
    run = merged.run
    counts = {
        "tests": len(run.results),
        "errors": run.count("error"),
        "failures": run.count("failed"),
        "skipped": run.count("skipped") + run.count("xfailed") + run.count("unfinished"),
        "time": f"{sum(result.seconds for result in run.results):.3f}",
    }
    attributes = " ".join(f"{name}={quoteattr(str(value))}" for name, value in counts.items())
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="merged"><testsuite name="meshgate" {attributes}>'
    if run.properties:
        yield ElementTree.tostring(_properties(run.properties), encoding="unicode")
    # A test keeps its place; what takes the place of its first result is held until then.
    moved = {pick: first for pick, first in zip(merged.picks, merged.first, strict=True) if pick != first}
    held = {moved[key]: text for key, text in _tests(files, run, set(moved))}
    for key, text in _tests(files, run, set(merged.first)):
        yield held.pop(key, text)
    yield "</testsuite></testsuites>\n"


def _tests(files: Sequence[Path], run: Run, wanted: set[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the tests at these positions as XML, in the order of the files."""
    for part in sorted({part for part, _ in wanted}):
        position = -1
        for suite, element in walk(files[part]):
            if element is not None:
                position += 1
                if (part, position) in wanted:
                    _keep_what_differs(element, suite, run)
                    yield (part, position), ElementTree.tostring(element, encoding="unicode")


def _keep_what_differs(element: ElementTree.Element, suite: Suite, run: Run) -> None:
    """A test whose part had another version than the merged suite says so itself."""
    element.tail = None
    own = {item.get("name") for item in element.iterfind("properties/property")}
    for name in RUN_PROPERTIES:
        value = suite.get(name)
        if value is not None and name not in own and run.properties.get(name) != value:
            block = element.find("properties")
            if block is None:
                block = ElementTree.Element("properties")
                element.insert(0, block)
            block.append(ElementTree.Element("property", name=name, value=value))


def _properties(values: dict[str, str]) -> ElementTree.Element:
    block = ElementTree.Element("properties")
    for name, value in values.items():
        block.append(ElementTree.Element("property", name=name, value=value))
    return block


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m reports.merge", description=__doc__, allow_abbrev=False)
    parser.add_argument("output", type=Path, help="where to write")
    parser.add_argument("files", type=Path, nargs="+", help="JUnit files of one run")
    parser.add_argument(
        "--rerun", action="store_true",
        help="the first file is a run and the others, in this order, reruns of its tests: the last result of a test counts",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    files = list({file.resolve(): file for file in options.files}.values())  # named twice, a file counts once
    try:
        merged = merge([read(file) for file in files], options.rerun)
        write(options.output, merged, files)
    except UnusableReport as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{options.output}: can't be written: {error.strerror}")
    for note in merged.notes[:_NOTES]:
        print(f"note: {printable(note)}")
    if len(merged.notes) > _NOTES:
        print(f"... and {len(merged.notes) - _NOTES} more notes")
    print(
        f"{options.output}: {len(merged.run.results)} tests of {len(files)} files; {merged.run.cut_short or merged.run.verdict}"
    )
    return 0


def _refuse(why: str) -> int:
    print(f"reports.merge: {why}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
