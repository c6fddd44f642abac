"""Two runs compared: each test in exactly one class, and the numbers that changed. Judges nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from reports.gate.policy import Limits
from reports.junit import RUN_PROPERTIES, Result, Run


class Kind(Enum):
    """What became of a test. The value is how it is called in reports."""

    FAILURE = "new failures"
    MISSING = "missing tests"
    NOT_RUN = "no longer run"
    NEWLY_KNOWN = "newly known issues"
    STILL_FAILING = "still failing"
    KNOWN = "known issues"
    FIXED = "fixed"
    NEW = "new tests"
    SKIPPED = "skipped in both"
    PASSED = "passed in both"


@dataclass(frozen=True, slots=True)
class Pair:
    """A test in both runs; None where a run does not have it."""

    name: str
    kind: Kind
    baseline: Result | None
    candidate: Result | None

    @property
    def title(self) -> str:
        """Check and case, or the test's own name where it has none."""
        result = self.candidate or self.baseline
        return f"{result.check}, {result.case}" if result and result.case else self.name


@dataclass(frozen=True, slots=True)
class Change:
    """A number, or a text, that is not what it was."""

    what: str
    before: str
    after: str
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs, and all that does not. Results of ``pairs`` are in the candidate's order, missing ones last."""

    baseline: Run
    candidate: Run
    pairs: list[Pair]
    beyond: list[Change]  # passes beyond the tolerance that held
    tolerance: list[Change]
    error: list[Change]
    slower: list[Change]
    memory: list[Change]
    versions: list[Change]

    def of(self, kind: Kind) -> list[Pair]:
        """Return the tests of one class."""
        return [pair for pair in self.pairs if pair.kind is kind]

    @property
    def counts(self) -> Counter[Kind]:
        """How many tests each class has."""
        return Counter(pair.kind for pair in self.pairs)


def compare(baseline: Run, candidate: Run, limits: Limits) -> Comparison:
    """Compare two runs in which each test has one result (``merge`` sees to it)."""
    before = {result.name: result for result in baseline.results}
    after = {result.name: result for result in candidate.results}
    names = [*after, *(name for name in before if name not in after)]
    pairs = [Pair(name, _kind(before.get(name), after.get(name)), before.get(name), after.get(name)) for name in names]
    return Comparison(
        baseline,
        candidate,
        pairs,
        list(_beyond(pairs)),
        list(_tolerance(pairs, limits)),
        sorted(_error(pairs, limits), key=_by_ratio),
        sorted(_grown(baseline, candidate, _seconds, limits.time_ratio, limits.time_floor_seconds, "s"), key=_by_ratio),
        sorted(_grown(baseline, candidate, _mebibytes, limits.memory_ratio, limits.memory_floor_mib, "MiB"), key=_by_ratio),
        list(_versions(baseline, candidate)),
    )


def _by_ratio(change: Change) -> float:
    return -(change.ratio or 0.0)


def _kind(before: Result | None, after: Result | None) -> Kind:
    was = before.outcome if before else "absent"
    now = after.outcome if after else "absent"
    if now in ("failed", "error"):
        return Kind.STILL_FAILING if was in ("failed", "error") else Kind.FAILURE
    if now in ("absent", "unfinished"):
        return Kind.MISSING
    if now == "xfailed":
        return Kind.NEWLY_KNOWN if was == "passed" else Kind.KNOWN
    if now == "skipped":
        return {"skipped": Kind.SKIPPED, "unfinished": Kind.SKIPPED, "absent": Kind.NEW}.get(was, Kind.NOT_RUN)
    return {"passed": Kind.PASSED, "failed": Kind.FIXED, "error": Kind.FIXED, "xfailed": Kind.FIXED}.get(was, Kind.NEW)


def _numbers(result: Result | None) -> tuple[float, float] | None:
    """Return what was measured and its tolerance, where the test says both."""
    try:
        return (float(result.own["measured"]), float(result.own["tolerance"])) if result else None
    except (KeyError, ValueError):
        return None


def _both(pairs: list[Pair]) -> Iterator[tuple[Pair, tuple[float, float], tuple[float, float]]]:
    for pair in pairs:
        before, after = _numbers(pair.baseline), _numbers(pair.candidate)
        if before and after:
            yield pair, before, after


def _beyond(pairs: list[Pair]) -> Iterator[Change]:
    """Passed tests that would have failed with the baseline's tolerance, or that no longer say their numbers."""
    for pair in pairs:
        if not (pair.baseline and pair.candidate and pair.candidate.outcome == pair.baseline.outcome == "passed"):
            continue
        before, after = _numbers(pair.baseline), _numbers(pair.candidate)
        if before and not after:
            yield Change(pair.title, f"{before[0]:.3g} of {before[1]:.3g}", "no numbers")
        elif before and after and before[0] <= before[1] and not after[0] <= before[1]:
            yield Change(pair.title, f"tolerance {before[1]:.3g}", f"error {after[0]:.3g}", _ratio(before[1], after[0]))


def _tolerance(pairs: list[Pair], limits: Limits) -> Iterator[Change]:
    for pair, (_, before), (_, after) in _both(pairs):
        ratio = _ratio(before, after)
        if not 1 / limits.tolerance_ratio <= ratio <= limits.tolerance_ratio:
            yield Change(pair.title, f"{before:.3g}", f"{after:.3g}", ratio)


def _error(pairs: list[Pair], limits: Limits) -> Iterator[Change]:
    """Errors that take a far larger part of their tolerance than they did, in tests that do not fail anew."""
    for pair, _, _ in _both(pairs):
        before, after = pair.baseline.used, pair.candidate.used  # type: ignore[union-attr]  # _both has both
        if pair.kind is Kind.FAILURE or before is None or after is None or not after > max(before, limits.error_floor):
            continue
        if after >= max(before, limits.error_floor) * limits.error_ratio:
            yield Change(pair.title, f"{before:.2g} of tolerance", f"{after:.2g} of tolerance", _ratio(before, after))


def _seconds(result: Result) -> float:
    return _number(result.own.get("seconds", "")) if result.case else result.seconds


def _mebibytes(result: Result) -> float:
    return _number(result.own.get("peak_memory_mib", ""))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _largest(run: Run, measure: Callable[[Result], float]) -> dict[str, float]:
    """Return a number for each case, or for each test that is of none."""
    found: dict[str, float] = {}
    for result in run.results:
        if result.outcome not in ("skipped", "unfinished"):
            key = result.case or result.name
            found[key] = max(found.get(key, 0.0), measure(result))
    return found


def _grown(
    baseline: Run, candidate: Run, measure: Callable[[Result], float], ratio: float, floor: float, unit: str
) -> Iterator[Change]:
    before = _largest(baseline, measure)
    for key, after in _largest(candidate, measure).items():
        # 0 is a number that is not known.
        if before.get(key) and after > before[key] * ratio and after - before[key] > floor:
            yield Change(key, f"{before[key]:.3g} {unit}", f"{after:.3g} {unit}", after / before[key])


def _versions(baseline: Run, candidate: Run) -> Iterator[Change]:
    for name in RUN_PROPERTIES:
        before, after = baseline.properties.get(name, ""), candidate.properties.get(name, "")
        if before != after and name != "host":
            yield Change(name, before or "(not stated)", after or "(not stated)")


def _ratio(before: float, after: float) -> float:
    """Return how many times the old number the new one is; 1 when both are the same, NaN and 0 included."""
    if before == after or (math.isnan(before) and math.isnan(after)):
        return 1.0
    if math.isnan(before) or math.isnan(after) or before == 0 or math.isinf(after):
        return math.inf
    return after / before
