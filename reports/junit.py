"""Read a JUnit file into plain rows, with junitparser. Nothing here knows how the file was made."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from junitparser import Error, Failure, JUnitXml, Properties, Skipped, TestCase, TestSuite

# Properties that hold for a whole run. A test that states its own value overrides the one of its suite.
RUN_PROPERTIES = (
    "stack",
    "stack_version",
    "transformer_engine",
    "torch",
    "python",
    "device",
    "stand_in",
    "substitutions",
    "seed",
    "host",
)

# The type of a <skipped> entry that stands for a test that was under way when its run was cut short.
UNFINISHED = "meshgate.unfinished"

# pytest's exit codes after which nothing is missing from the file: all passed, some failed, nothing was selected.
_ENDED = ("0", "1", "5")


class UnusableReport(ValueError):
    """The file can't be read as a JUnit report; the message is one line."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test; ``message`` is empty for passed ones.

    place:   file and line of the test's function, ("", 0) where the file does not say.
    outcome: passed, failed, error, skipped, xfailed, or unfinished (it was under way when the run was cut short).
    """

    name: str
    outcome: str
    message: str
    seconds: float
    properties: dict[str, str] = field(default_factory=dict)
    place: tuple[str, int] = ("", 0)

    @property
    def case(self) -> str | None:
        """The id of the case, for tests that check one."""
        return self.properties.get("case")

    @property
    def check(self) -> str | None:
        """The check's short name, for tests of a case; the test's own name where the check did not get to say it."""
        if self.case is None:
            return None
        function = self.name.split("[", 1)[0].rsplit(".", 1)[-1]
        return self.properties.get("check") or function.removeprefix("test_")

    @property
    def used(self) -> float | None:
        """The measured value as a part of its tolerance; None where the check has no number, infinite for NaN."""
        try:
            measured, tolerance = float(self.properties["measured"]), float(self.properties["tolerance"])
        except (KeyError, ValueError):
            return None
        if measured == 0 and not math.isnan(tolerance):
            return 0.0
        part = measured / tolerance if tolerance else math.inf
        return math.inf if math.isnan(part) else part


@dataclass(frozen=True, slots=True)
class Run:
    """All tests of a file, and the properties of its suites."""

    results: list[Result]
    properties: dict[str, str]

    @property
    def missing(self) -> int:
        """How many tests were selected, or begun, and have no result."""
        names = {result.name for result in self.results if result.outcome != "unfinished"}
        selected = self.properties.get("selected", "")
        return max(self.count("unfinished"), int(selected) - len(names) if selected.isdecimal() else 0)

    @property
    def cut_short(self) -> str:
        """Why the run did not get to its end, in words; empty when it did."""
        reason = self.properties.get("interrupted", "")
        status = self.properties.get("exit_status", "0")
        if not reason and status not in _ENDED:
            reason = f"pytest ended with exit code {status}"
        if self.missing:
            reason = f"{reason or 'the run stopped early'}; {self.missing} selected tests have no result"
        return reason

    def count(self, outcome: str) -> int:
        """Return how many tests ended so."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def verdict(self) -> str:
        """ACCEPT or REJECT of a stack, INCOMPLETE, NOTHING RAN; PASSED or FAILED where no test checks a case.

        ACCEPT needs a check of a case that passed, none that failed, and a run that got to its end.
        """
        checks = [result for result in self.results if result.case]
        if self.count("failed") or self.count("error"):
            return "REJECT" if checks else "FAILED"
        if self.cut_short:
            return "INCOMPLETE"
        if not any(result.outcome in ("passed", "xfailed") for result in checks or self.results):
            return "NOTHING RAN"
        return "ACCEPT" if checks else "PASSED"


def read(path: Path) -> Run:
    """Read a file.

    Raises:
        UnusableReport: it is missing, empty, damaged, or no JUnit.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UnusableReport(f"{path}: no such file; run pytest first, or give the path of a junit.xml") from None
    except OSError as error:
        raise UnusableReport(f"{path}: can't be read: {error.strerror}") from None
    if not data.strip():
        raise UnusableReport(f"{path}: the file is empty; the run that wrote it did not end")
    try:
        _refuse_doctype(data)
        document = JUnitXml.fromstring(data)
        properties: dict[str, str] = {}
        for suite in [document, *document]:
            properties |= _properties(suite)
        return Run(list(_results(document, {})), properties)
    except Exception as error:  # junitparser and its XML parser have no common base class for what they raise
        raise UnusableReport(f"{path}: not a JUnit report: {' '.join(str(error).split())}") from None


def _refuse_doctype(data: bytes) -> None:
    """Entities are declared in a DOCTYPE only, JUnit has none, and expanding them can fill the memory."""

    class _InBody(Exception):
        pass

    def refuse(*_: object) -> None:
        raise ValueError("it has a DOCTYPE, which JUnit reports do not need")

    def body(*_: object) -> None:
        raise _InBody

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = body
    with suppress(_InBody):
        parser.Parse(data, True)


def _results(node: JUnitXml | TestSuite, inherited: dict[str, str]) -> Iterator[Result]:
    """Yield every test of a document or suite; each knows the run's properties from the suites around it."""
    around = {**inherited, **_properties(node)}
    for case in node.iterchildren(TestCase):
        yield _result(case, around)
    for suite in node.iterchildren(TestSuite):
        yield from _results(suite, around)


def _properties(node: JUnitXml | TestSuite | TestCase) -> dict[str, str]:
    found = {}
    for block in node.iterchildren(Properties):
        for item in block:
            # Some tools write the value as an attribute, some as text.
            found[item.name or ""] = item.value if item.value is not None else (item._elem.text or "").strip()
    return found


def _result(case: TestCase, around: dict[str, str]) -> Result:
    outcome, message = "passed", ""
    for entry in case.result:
        if isinstance(entry, Error):
            outcome = "error"
        elif isinstance(entry, Failure):
            outcome = "failed"
        elif isinstance(entry, Skipped):
            outcome = {"pytest.xfail": "xfailed", UNFINISHED: "unfinished"}.get(entry.type or "", "skipped")
        message = _message(entry.message or entry.text or "")
        if outcome in ("failed", "error"):
            break
    properties = {name: around[name] for name in RUN_PROPERTIES if name in around} | _properties(case)
    name = f"{case.classname}.{case.name}" if case.classname else case.name or ""
    try:
        seconds = float(case.time or 0.0)
    except ValueError:
        seconds = 0.0
    line = case._elem.get("line") or ""
    place = (case._elem.get("file") or "", int(line) if line.isdecimal() else 0)
    return Result(name, outcome, message, seconds, properties, place)


def _message(text: str) -> str:
    """Take off what pytest puts around a finding: the name of its own exception, and the phase."""
    wrapped = re.fullmatch(r'failed on (?:setup|teardown) with "(.*)"', text.strip(), re.DOTALL)
    return (wrapped.group(1) if wrapped else text).removeprefix("Failed: ")
