"""All ordinary checks of one case, judged: passed, a known issue, or an alarm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fixtures.case import Case
from fixtures.cluster.failure import GangFailure
from fixtures.known_issues import Entry
from fixtures.oracle.evidence import Evidence
from fixtures.plugin.known import seen
from suites.judging import checks_of_case


@dataclass(slots=True)
class Judged:
    """``alarms`` and ``known`` by check: what it says, and the id of the known issue; ``worst``: error / tolerance."""

    checks: int = 0
    alarms: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class _Recorder:
    """Stands for the ``check`` fixture: keeps what a check finds, and what it measured."""

    def __init__(self, name: str) -> None:
        self.name, self.text, self.ratio = name, "", None

    def __call__(self, finding: object, measured: float | None = None, tolerance: float | None = None) -> None:
        self.text = str(finding) if finding else ""
        if measured is not None and tolerance:
            self.ratio = measured / tolerance


def judge(case: Case, run: Callable[[Case], Evidence], expected: Callable[[str, Case], list[Entry]]) -> Judged:
    """Run a case and call its checks. An expected finding that does not come is an alarm as well: the suite would fail."""
    started, judged = time.monotonic(), Judged()
    evidence, crash = None, ""
    try:
        evidence = run(case)
    except GangFailure as failure:
        crash = f"the case did not complete: {failure}"
    for name, function in checks_of_case(case).items():
        recorder = _Recorder(name)
        if evidence is not None:
            function(evidence=evidence, check=recorder)
        text, entries = recorder.text or crash, expected(name, case)
        judged.checks += 1
        entry = (
            next((entry for entry in [*entries, *_unsure(name, case, expected)] if seen(entry, text)), None) if text else None
        )
        if entry is not None:
            judged.known[name] = entry.id
        elif text:
            judged.alarms[name] = text
        elif entries:
            judged.alarms[name] = f"{name}: the known issue {entries[0].id} is expected here, and nothing failed"
        elif recorder.ratio is not None:
            judged.worst[name] = recorder.ratio
    judged.seconds = time.monotonic() - started
    return judged


def _unsure(check: str, case: Case, expected: Callable[[str, Case], list[Entry]]) -> list[Entry]:
    """Return the known issues of a bfloat16 case that are only declared where they show with certainty.

    Its tolerances let some of them through. Entries are strict, and so are silent there; what is wrong is the same.
    """
    return expected(check, replace(case, precision="float32")) if case.precision == "bfloat16" else []
