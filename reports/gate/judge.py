"""A comparison judged by a policy: accept or reject, why, and what there is to show, for any form of output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reports.gate.compare import Change, Comparison, Kind, Pair
from reports.gate.policy import Policy
from reports.junit import Run
from reports.summary import many

# Classes of tests in the order in which they are shown, with the key of the policy that says whether they reject.
# True: always, False: never. What is the same in both runs is counted, not listed.
_KINDS: dict[Kind, str | bool] = {
    Kind.FAILURE: True,
    Kind.MISSING: "missing",
    Kind.NOT_RUN: "not_run",
    Kind.NEWLY_KNOWN: "newly_known",
    Kind.STILL_FAILING: "still_failing",
    Kind.KNOWN: False,
    Kind.FIXED: False,
    Kind.NEW: False,
}
# Which outcome explains a class: for tests that are worse now, what the candidate says.
_OF_BASELINE = (Kind.FIXED, Kind.MISSING)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one kind, and whether they reject."""

    title: str
    rejects: bool
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    count: int  # of tests or numbers; a row may stand for several tests


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and everything that is shown with it."""

    accepted: bool
    why: str
    runs: list[tuple[str, str]]
    sections: list[Section]
    counts: list[tuple[str, int]]
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The word for it."""
        return "ACCEPT" if self.accepted else "REJECT"


def judge(comparison: Comparison, policy: Policy, notes: Sequence[str] = ()) -> Judgement:
    """Judge the candidate. It is accepted only when it is complete, something held in it, and nothing rejects."""
    sections = _sections(comparison, policy)
    reasons = []
    if comparison.candidate.cut_short:
        reasons.append(f"the candidate's run is incomplete: {comparison.candidate.cut_short}")
    elif not comparison.candidate.anything_held:
        reasons.append("no check of the candidate held")
    notes = list(notes)
    if comparison.baseline.cut_short:
        words = f"the baseline's run is incomplete: {comparison.baseline.cut_short}"
        (reasons if policy.reject.incomplete_baseline else notes).append(words)
    elif not comparison.baseline.anything_held:
        notes.append("no check of the baseline held: it can't tell what got worse")
    reasons += [f"{section.count} {_singular(section)}" for section in sections if section.rejects]
    shown = [f"{section.count} {_singular(section)}" for section in sections if not section.rejects and section.count]
    if reasons:
        why = "; ".join(reasons)
    else:
        passed = comparison.counts[Kind.PASSED]
        why = f"no worse than the baseline: {passed} passed in both{''.join(f', {words}' for words in shown)}"
    return Judgement(
        accepted=not reasons,
        why=why,
        runs=[("baseline", _told(comparison.baseline)), ("candidate", _told(comparison.candidate))],
        sections=sections,
        counts=[(kind.value, comparison.counts[kind]) for kind in Kind],
        notes=notes,
    )


def _singular(section: Section) -> str:
    """Return the title for the number of its rows."""
    title = section.title
    for word in ("failures", "tests", "issues", "tolerances", "errors", "cases", "versions"):
        if section.count == 1 and word in title:
            return title.replace(word, word[:-1])
    return title


def _told(run: Run) -> str:
    """Return one line about a run."""
    cases = len({result.case for result in run.results if result.case})
    facts = [
        f"{name} {run.properties[name]}" for name in ("stack_version", "torch", "python", "device") if run.properties.get(name)
    ]
    stack = run.properties.get("stack", "")
    text = ", ".join([many(len(run.results), "test"), many(cases, "case"), *([stack] if stack else []), *facts])
    return f"{text}, CPU stand-in" if run.properties.get("stand_in") == "on" else text


def _sections(comparison: Comparison, policy: Policy) -> list[Section]:
    sections = []
    for kind, key in _KINDS.items():
        pairs = comparison.of(kind)
        rejects = key if isinstance(key, bool) else bool(getattr(policy.reject, key))
        sections.append(
            Section(kind.value, rejects and bool(pairs), ("test", "was", "is", "finding"), _grouped(pairs), len(pairs))
        )
    for title, key, changes in (
        ("passed beyond the former tolerance", "beyond_tolerance", comparison.beyond),
        ("changed versions", "versions", comparison.versions),
        ("changed tolerances", "tolerance", comparison.tolerance),
        ("grown errors", "error", comparison.error),
        ("slower cases", "slower", comparison.slower),
        ("cases with more memory", "memory", comparison.memory),
    ):
        rows = [(change.what, change.before, change.after, _times(change)) for change in changes]
        rejects = bool(getattr(policy.reject, key)) and bool(rows)
        sections.append(Section(title, rejects, ("what", "baseline", "candidate", "ratio"), rows, len(rows)))
    # What rejects comes first.
    return sorted((section for section in sections if section.rows), key=lambda section: not section.rejects)


def _times(change: Change) -> str:
    return "" if change.ratio is None else f"x {change.ratio:.3g}"


def _grouped(pairs: Sequence[Pair]) -> Sequence[tuple[str, ...]]:
    """Return one row for each test; one for all checks of a case that say the same."""
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        shown = pair.baseline if pair.kind in _OF_BASELINE else pair.candidate
        case = shown.case if shown else None
        first = (shown.message.strip().splitlines() or [""])[0] if shown else ""
        was = pair.baseline.outcome if pair.baseline else "absent"
        now = pair.candidate.outcome if pair.candidate else "absent"
        groups.setdefault((case or pair.name, was, now, first), []).append(pair)
    rows = []
    for (key, was, now, first), members in groups.items():
        if len(members) == 1:
            title = members[0].title
        else:
            checks = [(pair.candidate or pair.baseline).check or pair.name for pair in members]  # type: ignore[union-attr]
            more = f" and {len(checks) - 3} more" if len(checks) > 3 else ""
            title = f"{key}: {', '.join(checks[:3])}{more}"
        rows.append((title, was, now, first))
    return rows
