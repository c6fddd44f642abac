"""Read a JUnit file into plain rows, with junitparser. Nothing here knows how the file was made."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from junitparser import Error, Failure, Skipped, TestCase

from reports.xml import Suite, UnusableReport, properties_in, walk

__all__ = ["BOOKKEEPING", "RUN_PROPERTIES", "UNFINISHED", "Result", "Run", "UnusableReport", "read"]

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

# Properties of a suite that say how its run ended.
BOOKKEEPING = ("selected", "exit_status", "interrupted")

# Newer versions of pytest cut the message attribute and say so.
_CUT = re.compile(r'\n\[(?:\+\d+ more lines?|truncated); full report in element text\]"?\s*$')
_FAILED = re.compile(r'^\s*failed on (?:setup|teardown) with "')

# The text of a finding is kept up to this length; some tools put megabytes of output there.
_MESSAGE = 20_000


@dataclass(frozen=True, slots=True)
class Result:
    """One test; ``message`` is empty for passed ones.

    own:     the properties that the test states itself.
    place:   file and line of the test's function, ("", 0) where the file does not say.
    outcome: passed, failed, error, skipped, xfailed, or unfinished (it was under way when the run was cut short).
    """

    name: str
    outcome: str
    message: str
    seconds: float
    own: dict[str, str] = field(default_factory=dict)
    place: tuple[str, int] = ("", 0)
    suite: Suite | None = None

    @property
    def properties(self) -> dict[str, str]:
        """Its own properties, and those of its suite that hold for a whole run where it does not say otherwise."""
        around = {} if self.suite is None else {name: self.suite.get(name) for name in RUN_PROPERTIES}
        return {name: value for name, value in around.items() if value is not None} | self.own

    @property
    def case(self) -> str | None:
        """The id of the case, for tests that check one."""
        return self.own.get("case")

    @property
    def check(self) -> str | None:
        """The check's short name, for tests of a case; the test's own name where the check did not get to say it."""
        if self.case is None:
            return None
        function = self.name.split("[", 1)[0].rsplit(".", 1)[-1]
        return self.own.get("check") or function.removeprefix("test_")

    @property
    def used(self) -> float | None:
        """The measured value as a part of its tolerance; None where the check has no number, infinite for NaN."""
        try:
            measured, tolerance = float(self.own["measured"]), float(self.own["tolerance"])
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
        selected = number_in(self.properties.get("selected", ""))
        return max(self.count("unfinished"), 0 if selected is None else selected - len(names))

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
        if not self.anything_held:
            return "NOTHING RAN"
        return "ACCEPT" if checks else "PASSED"

    @property
    def anything_held(self) -> bool:
        """Whether a check of a case was made and held; any test where none checks a case."""
        checks = [result for result in self.results if result.case]
        return any(result.outcome == "passed" for result in checks or self.results)


def read(path: Path) -> Run:
    """Read a file, in memory that grows with the number of its tests and not with the length of their output.

    Raises:
        UnusableReport: it is missing, empty, damaged, or no JUnit.
    """
    results: list[Result] = []
    top: list[Suite] = []  # the root and the suites right below it
    pool: dict[str, str] = {}  # most values of properties are the same in many tests
    for suite, element in walk(path):
        if element is not None:
            results.append(result_of(element, suite, pool))
        elif suite.level <= 1:
            top.append(suite)
    return Run(results, _shared(top))


def _shared(suites: Sequence[Suite]) -> dict[str, str]:
    """Return the properties of all suites together. What says how each of them ended is never hidden by another."""
    found: dict[str, str] = {}
    for suite in suites:
        found |= suite.properties
    ends = [suite.properties for suite in suites if set(BOOKKEEPING) & set(suite.properties)]
    if len(ends) > 1:
        stated = [number_in(suite.properties.get("selected", "")) for suite in suites]
        counts = [suite.tests if number is None else number for number, suite in zip(stated, suites, strict=True)]
        together = {
            "selected": str(sum(counts)) if any(number is not None for number in stated) else "",
            "exit_status": worst_status([end.get("exit_status", "") for end in ends]),
            "interrupted": "; ".join(dict.fromkeys(end["interrupted"] for end in ends if end.get("interrupted"))),
        }
        found = {**{name: value for name, value in found.items() if name not in BOOKKEEPING}, **_filled(together)}
    return found


def _filled(properties: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value}


def worst_status(statuses: Sequence[str]) -> str:
    """Return the exit code of pytest that stands for several: one of a run that did not end, before 1, before 0."""
    stated = [status for status in statuses if status]
    return next((status for status in stated if status not in _ENDED), max(stated, key=lambda s: s == "1", default=""))


def number_in(text: str) -> int | None:
    """Return a plain whole number, or None."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def result_of(element: Element, suite: Suite, pool: dict[str, str] | None = None) -> Result:
    """Return the result in a <testcase>; ``pool`` keeps equal texts once."""
    case = TestCase.fromelem(element)
    outcome, message = "passed", ""
    for entry in case.result:
        if isinstance(entry, Error):
            outcome = "error"
        elif isinstance(entry, Failure):
            outcome = "failed"
        elif isinstance(entry, Skipped):
            outcome = {"pytest.xfail": "xfailed", UNFINISHED: "unfinished"}.get(entry.type or "", "skipped")
        message = _message(entry.message or "", entry.text or "")
        if outcome in ("failed", "error"):
            break
    pool = {} if pool is None else pool
    own: dict[str, str] = {}
    for block in element.iterfind("properties"):
        for name, value in properties_in(block).items():
            own[pool.setdefault(name, name)] = pool.setdefault(value, value)
    name = f"{case.classname}.{case.name}" if case.classname else case.name or ""
    try:
        seconds = float(case.time or 0.0)
    except ValueError:
        seconds = 0.0
    file = element.get("file") or ""
    place = (pool.setdefault(file, file), number_in(element.get("line") or "") or 0)
    return Result(name, outcome, message, seconds if math.isfinite(seconds) else 0.0, own, place, suite)


def _message(message: str, text: str) -> str:
    """Return the finding: the message, or the text below it where the message is only its beginning or is not there.

    Takes off what pytest puts around a finding: the name of its own exception, and the phase.
    """
    cut = _CUT.search(message)
    if cut:
        begins = _FAILED.sub("", message[: cut.start()].removesuffix("..."))
        whole = text.strip().removeprefix("Failed: ")
        message = whole if whole.startswith(begins.removeprefix("Failed: ").strip()) else message
    else:
        message = message or text
    wrapped = re.fullmatch(r'failed on (?:setup|teardown) with "(.*)"', message.strip(), re.DOTALL)
    message = (wrapped.group(1) if wrapped else message).removeprefix("Failed: ")
    more = len(message) - _MESSAGE
    return f"{message[:_MESSAGE]}\n... {more} more characters in the JUnit file" if more > 0 else message
