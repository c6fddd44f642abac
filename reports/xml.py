"""Go through a JUnit file of any size, element by element, without trusting it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

# A property of a test that starts so is a row of a table, as JSON; a test may state several.
TABLE = "table:"
ROW_END = "\x1e"  # a character that XML does not allow in values

_CHUNK = 1 << 16
# JUnit files are some five elements deep; what is nested far deeper is no report, and would fill the memory.
_DEPTH = 100


class UnusableReport(ValueError):
    """The file can't be read as a JUnit report; the message is one line."""


class Suite:
    """What is known of a <testsuites> or <testsuite> while going through it.

    level:      0 for the root.
    properties: its own; complete only when the file has been read to its end.
    """

    __slots__ = ("level", "parent", "properties", "tests")

    def __init__(self, parent: Suite | None) -> None:
        self.parent = parent
        self.level: int = parent.level + 1 if parent else 0
        self.properties: dict[str, str] = {}
        self.tests = 0

    def get(self, name: str) -> str | None:
        """Return a property of the suite, or of the nearest one around it that has it."""
        suite: Suite | None = self
        while suite is not None:
            if name in suite.properties:
                return suite.properties[name]
            suite = suite.parent
        return None


def walk(path: Path) -> Iterator[tuple[Suite, ElementTree.Element | None]]:
    """Yield every suite as it begins, with None, and every <testcase> with its suite. Each is forgotten afterwards.

    Raises:
        UnusableReport: it is missing, empty, damaged, hostile, or no JUnit.
    """
    try:
        with path.open("rb") as file:
            yield from _checked(path, file)
    except FileNotFoundError:
        raise UnusableReport(f"{path}: no such file; run pytest first, or give the path of a junit.xml") from None
    except OSError as error:
        raise UnusableReport(f"{path}: can't be read: {error.strerror or error}") from None
    except ValueError as error:  # a null byte in the path
        if isinstance(error, UnusableReport):
            raise
        raise UnusableReport(f"{path}: can't be read: {error}") from None


def _checked(path: Path, file: BinaryIO) -> Iterator[tuple[Suite, ElementTree.Element | None]]:
    """Wrap what XML parsers raise, and nothing that the caller raises between two elements."""
    if not _look_ahead(path, file):
        raise UnusableReport(f"{path}: the file is empty; the run that wrote it did not end")
    file.seek(0)
    found = _elements(file)
    while True:
        try:
            step = next(found, None)
        except (ElementTree.ParseError, LookupError, ValueError, RecursionError) as error:
            raise _no_junit(path, error) from None
        if step is None:
            return
        yield step


def _no_junit(path: Path, error: Exception) -> UnusableReport:
    return UnusableReport(f"{path}: not a JUnit report: {' '.join(str(error).split())}")


def _look_ahead(path: Path, file: BinaryIO) -> bool:
    """Return False for an empty file; refuse one with a DOCTYPE.

    Entities are declared in a DOCTYPE only, JUnit has none, and expanding them can fill the memory or read other files.
    A DOCTYPE stands before the first element, or nowhere.
    """

    class _InBody(Exception):
        pass

    def refuse(*_: object) -> None:
        raise ValueError("it has a DOCTYPE, which JUnit reports do not need")

    def body(*_: object) -> None:
        raise _InBody

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = body
    blank = True
    with suppress(_InBody):
        try:
            while chunk := file.read(_CHUNK):
                blank = blank and not chunk.strip()
                parser.Parse(chunk, False)
            if not blank:
                parser.Parse(b"", True)
        except (expat.ExpatError, LookupError, ValueError) as error:
            if not (blank and file.read(_CHUNK).strip() == b""):
                raise _no_junit(path, error) from None
    return not blank


def _elements(file: BinaryIO) -> Iterator[tuple[Suite, ElementTree.Element | None]]:
    stack: list[ElementTree.Element] = []
    suites: list[Suite] = []
    inside = 0  # how many elements around this one, itself included, belong to a test or to properties
    for event, element in ElementTree.iterparse(file, ("start", "end")):
        if event == "start":
            if element.tag.startswith("{"):
                element.tag = element.tag.rpartition("}")[2]
            tag = element.tag
            if not stack and tag not in ("testsuites", "testsuite"):
                raise ValueError(f"its first element is <{tag[:40]}>, not <testsuites> or <testsuite>")
            stack.append(element)
            if len(stack) > _DEPTH:
                raise ValueError(f"its elements are nested more than {_DEPTH} deep")
            if inside or tag in ("testcase", "properties"):
                inside += 1
            elif tag in ("testsuites", "testsuite"):
                suites.append(Suite(suites[-1] if suites else None))
                yield suites[-1], None
            continue
        stack.pop()
        if inside:
            inside -= 1
            if inside:
                continue
            if element.tag == "properties":
                suites[-1].properties |= properties_in(element)
            else:
                suites[-1].tests += 1
                yield suites[-1], element
        elif element.tag in ("testsuites", "testsuite"):
            suites.pop()
        if stack:
            stack[-1].remove(element)


def properties_in(block: ElementTree.Element) -> dict[str, str]:
    """Return what a <properties> element says. Some tools write the value as an attribute, some as text.

    The last of several values of a name counts. Rows of tables are all kept, with ROW_END between them.
    """
    found: dict[str, str] = {}
    for item in block.iterfind("property"):
        name, value = item.get("name", ""), item.get("value")
        value = (item.text or "").strip() if value is None else value
        if name in found and name.startswith(TABLE):
            value = f"{found[name]}{ROW_END}{value}"
        found[name] = value
    return found
