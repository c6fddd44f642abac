"""Read a JUnit file into plain rows, with junitparser. Nothing here knows how the file was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import ParseError

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

# Properties that hold for the whole run when every test agrees on them.
RUN_PROPERTIES = (
    "stack", "stack_version", "transformer_engine", "torch", "python", "device", "stand_in", "substitutions", "seed", "host",
)  # fmt: skip


class UnusableReport(ValueError):
    """The file can't be read as a JUnit report; the message is one line."""


@dataclass(frozen=True, slots=True)
class Result:
    """One test: outcome is passed, failed, error, skipped or xfailed; ``message`` is empty for passed ones."""

    name: str
    outcome: str
    message: str
    seconds: float
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def check(self) -> str | None:
        """The check's short name, for tests that check a case."""
        return self.properties.get("check")

    @property
    def case(self) -> str | None:
        """The id of the case, for tests that check one."""
        return self.properties.get("case")

    @property
    def used(self) -> float | None:
        """The measured value as a part of its tolerance; None where the check has no number."""
        try:
            return float(self.properties["measured"]) / float(self.properties["tolerance"])
        except (KeyError, ValueError, ZeroDivisionError):
            return None


@dataclass(frozen=True, slots=True)
class Run:
    """All tests of a file, and the properties of its suites."""

    results: list[Result]
    properties: dict[str, str]

    @property
    def interrupted(self) -> bool:
        """Whether the run was cut short."""
        return self.properties.get("interrupted") == "yes"

    def count(self, outcome: str) -> int:
        """Return how many tests ended so."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def verdict(self) -> str:
        """ACCEPT, REJECT, INCOMPLETE or NOTHING RAN."""
        if self.count("failed") or self.count("error"):
            return "REJECT"
        if self.interrupted:
            return "INCOMPLETE"
        return "ACCEPT" if self.count("passed") else "NOTHING RAN"


def read(path: Path) -> Run:
    """Read a file.

    Raises:
        UnusableReport: it is missing, empty, damaged, or no JUnit.
    """
    try:
        if b"<!DOCTYPE" in path.read_bytes()[:4096]:
            raise UnusableReport(f"{path}: has a DOCTYPE, which JUnit reports do not need; not read")
        document = JUnitXml.fromfile(str(path))
    except FileNotFoundError:
        raise UnusableReport(f"{path}: no such file; run pytest first, or give the path of a junit.xml") from None
    except OSError as error:
        raise UnusableReport(f"{path}: can't be read: {error.strerror}") from None
    except (ParseError, SyntaxError, ValueError) as error:
        raise UnusableReport(f"{path}: not a JUnit report: {error}") from None
    except Exception as error:  # junitparser's own error for a root that is neither testsuites nor testsuite
        raise UnusableReport(f"{path}: not a JUnit report: {error}") from None
    suites = [document] if isinstance(document, TestSuite) else list(document)
    properties = {item.name: item.value for suite in suites for item in suite.properties()}
    return Run([_result(case) for suite in suites for case in suite], properties)


def _result(case: TestCase) -> Result:
    outcome, message = "passed", ""
    for entry in case.result or []:
        if isinstance(entry, Error):
            outcome = "error"
        elif isinstance(entry, Failure):
            outcome = "failed"
        elif isinstance(entry, Skipped):
            outcome = "xfailed" if entry.type == "pytest.xfail" else "skipped"
        else:
            continue
        message = entry.message or entry.text or ""
    found = {item.name: item.value for item in case.properties()} if hasattr(case, "properties") else {}
    name = f"{case.classname}.{case.name}" if case.classname else case.name
    return Result(name, outcome, message, float(case.time or 0.0), found)
