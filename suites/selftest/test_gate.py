"""The gate: every test in one class, a run is no worse than itself, and nothing that got worse is accepted."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from reports.gate.compare import Kind, compare
from reports.gate.judge import judge
from reports.gate.policy import Limits, Policy, Reject
from reports.gate.show import markdown, terminal
from reports.junit import Run
from suites.selftest.reports_strategies import OUTCOMES, result, runs

pytestmark = pytest.mark.selftest

RAN = st.sampled_from(OUTCOMES)
DEFAULT = Policy()
ALLOWING = Policy(reject=Reject(**{entry.name: False for entry in fields(Reject)}))


def _judged(baseline: Run, candidate: Run, policy: Policy = DEFAULT):
    return judge(compare(baseline, candidate, policy.limits), policy)


def _run(*results, **properties: str) -> Run:
    return Run(list(results), properties)


@given(runs(), runs())
def test_each_test_is_in_exactly_one_class(baseline, candidate):
    compared = compare(baseline, candidate, Limits())
    names = [pair.name for pair in compared.pairs]
    assert sorted(names) == sorted({r.name for r in [*baseline.results, *candidate.results]})
    assert sum(len(compared.of(kind)) for kind in Kind) == len(names)
    assert compared.counts.total() == len(names)


CLASSES = {
    # what it was: what it is -> class
    "absent": {"passed": Kind.NEW, "failed": Kind.FAILURE, "error": Kind.FAILURE, "skipped": Kind.NEW, "xfailed": Kind.KNOWN},
    "passed": {
        **{"absent": Kind.MISSING, "passed": Kind.PASSED, "failed": Kind.FAILURE, "error": Kind.FAILURE},
        **{"skipped": Kind.NOT_RUN, "xfailed": Kind.NEWLY_KNOWN, "unfinished": Kind.MISSING},
    },
    "failed": {
        **{"absent": Kind.MISSING, "passed": Kind.FIXED, "failed": Kind.STILL_FAILING, "error": Kind.STILL_FAILING},
        **{"skipped": Kind.NOT_RUN, "xfailed": Kind.KNOWN, "unfinished": Kind.MISSING},
    },
    "error": {"absent": Kind.MISSING, "passed": Kind.FIXED, "failed": Kind.STILL_FAILING, "skipped": Kind.NOT_RUN},
    "skipped": {
        **{"absent": Kind.MISSING, "passed": Kind.NEW, "failed": Kind.FAILURE, "error": Kind.FAILURE},
        **{"skipped": Kind.SKIPPED, "xfailed": Kind.KNOWN, "unfinished": Kind.MISSING},
    },
    "xfailed": {
        **{"absent": Kind.MISSING, "passed": Kind.FIXED, "failed": Kind.FAILURE, "error": Kind.FAILURE},
        **{"skipped": Kind.NOT_RUN, "xfailed": Kind.KNOWN, "unfinished": Kind.MISSING},
    },
    "unfinished": {"absent": Kind.MISSING, "passed": Kind.NEW, "failed": Kind.FAILURE, "skipped": Kind.SKIPPED},
}


@pytest.mark.parametrize(
    ("was", "now", "kind"), [(was, now, kind) for was, row in CLASSES.items() for now, kind in row.items()]
)
def test_classes(was, now, kind):
    baseline = [] if was == "absent" else [result("tp2", "loss", was)]
    candidate = [] if now == "absent" else [result("tp2", "loss", now)]
    assert [pair.kind for pair in compare(Run(baseline, {}), Run(candidate, {}), Limits()).pairs] == [kind]


@given(runs(RAN))
def test_a_run_against_itself_is_accepted_when_anything_held_in_it(run):
    judged = _judged(run, run)
    assert judged.accepted == run.anything_held
    assert {section.title for section in judged.sections} <= {Kind.STILL_FAILING.value, Kind.KNOWN.value}


WORSE = {
    "passed": ["failed", "error", "skipped", "xfailed", "unfinished", "absent"],
    "xfailed": ["failed", "error", "skipped", "unfinished", "absent"],
    "skipped": ["failed", "error", "unfinished", "absent"],
    "failed": ["skipped", "unfinished", "absent"],
    "error": ["skipped", "unfinished", "absent"],
}


@given(st.data(), runs(RAN))
def test_any_single_worsened_result_is_rejected(data, run):
    assume(run.anything_held)
    assert _judged(run, run).accepted
    position = data.draw(st.integers(0, len(run.results) - 1))
    one = run.results[position]
    now = data.draw(st.sampled_from(WORSE[one.outcome]))
    changed = [] if now == "absent" else [replace(one, outcome=now, message="worse")]
    candidate = Run([*run.results[:position], *changed, *run.results[position + 1 :]], run.properties)
    assert not _judged(run, candidate).accepted


@given(st.data(), runs(RAN), runs(RAN))
def test_no_policy_accepts_a_new_failure_or_an_incomplete_candidate(data, baseline, candidate):
    extra = result("tp8", "loss", data.draw(st.sampled_from(["failed", "error", "unfinished"])))
    assert not _judged(baseline, Run([*candidate.results, extra], {}), ALLOWING).accepted


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"interrupted": "Ctrl-C"}, "the candidate's run is incomplete: Ctrl-C"),
        ({"exit_status": "3"}, "the candidate's run is incomplete: pytest ended with exit code 3"),
        ({"selected": "5"}, "the candidate's run is incomplete: the run stopped early; 4 selected tests have no result"),
    ],
)
def test_an_incomplete_candidate_says_so(properties, words):
    good = result("tp2", "loss", "passed")
    judged = _judged(_run(good), _run(good, **properties), ALLOWING)
    assert (judged.verdict, judged.why) == ("REJECT", words)


def test_an_incomplete_baseline_can_not_tell_what_is_missing():
    good = result("tp2", "loss", "passed")
    baseline = _run(good, interrupted="Ctrl-C")
    assert _judged(baseline, _run(good)).why == "the baseline's run is incomplete: Ctrl-C"
    allowed = _judged(baseline, _run(good), Policy(reject=Reject(incomplete_baseline=False)))
    assert allowed.accepted
    assert allowed.notes == ["the baseline's run is incomplete: Ctrl-C"]


def test_where_nothing_held_nothing_is_accepted():
    run = _run(result("tp2", "loss", "skipped"), result("tp2", "norm", "failed"))
    judged = _judged(run, run, ALLOWING)
    assert judged.why == "no check of the candidate held"
    assert judged.notes == ["no check of the baseline held: it can't tell what got worse"]


def test_other_tests_do_not_stand_in_for_checks_of_cases():
    plain = replace(result("tp2", "x", "passed"), own={})
    run = _run(result("tp2", "loss", "skipped"), plain)
    assert not _judged(run, run).accepted


def _numbers(measured: str, tolerance: str = "1.0", outcome: str = "passed", **own: str) -> Run:
    return _run(result("tp2", "loss", outcome, measured=measured, tolerance=tolerance, **own))


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [
        ("0.01", "0.099", None),
        ("0.01", "0.1", 10),
        ("0.01", "0.9", 90),
        ("0.5", "0.01", None),
        ("1e-12", "1e-7", None),  # both are rounding
        ("1e-12", "2e-5", 2e7),
        ("0.0", "0.5", float("inf")),
        ("nan", "nan", None),
    ],
)
def test_an_error_that_grew_within_its_tolerance_is_shown(before, after, ratio):
    judged = _judged(_numbers(before), _numbers(after))
    assert [change.ratio for change in compare(_numbers(before), _numbers(after), Limits()).error] == (
        [] if ratio is None else [pytest.approx(ratio)]
    )
    assert judged.accepted
    assert [section.title for section in judged.sections] == ([] if ratio is None else ["grown errors"])
    assert _judged(_numbers(before), _numbers(after), Policy(reject=Reject(error=True))).accepted == (ratio is None)


@pytest.mark.parametrize(("after", "shown"), [("1.9", False), ("0.6", False), ("2.1", True), ("0.4", True), ("0.0", True)])
def test_changed_tolerances(after, shown):
    before, now = _numbers("0.0"), _numbers("0.0", after)
    assert [section.title for section in _judged(before, now).sections] == (["changed tolerances"] if shown else [])
    assert _judged(before, now, Policy(reject=Reject(tolerance=True))).accepted != shown


@pytest.mark.parametrize(
    "candidate",
    [_numbers("1.5", "4.0"), _numbers("1.5", "inf"), _numbers("nan", "4.0"), _run(result("tp2", "loss", "passed"))],
    ids=["wider tolerance", "no bound", "NaN", "no numbers"],
)
def test_a_failure_is_not_hidden_by_a_wider_tolerance(candidate):
    judged = _judged(_numbers("0.5"), candidate)
    assert judged.why == "1 passed beyond the former tolerance"
    assert _judged(_numbers("0.5"), candidate, Policy(reject=Reject(beyond_tolerance=False))).accepted


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("10.0", "15.1", ["x 1.51"]),
        ("10.0", "14.9", []),
        ("0.1", "1.9", []),  # below the floor
        ("0.1", "2.2", ["x 22"]),
        ("", "50", []),
        ("0", "50", []),
        ("nan", "50", []),
        ("50", "1e999", []),
        ("50", "10", []),
    ],
)
def test_slower_cases_are_those_beyond_ratio_and_floor(before, after, shown):
    one = result("tp2", "loss", "passed")
    baseline, candidate = (_run(replace(one, own=one.own | {"seconds": seconds})) for seconds in (before, after))
    judged = _judged(baseline, candidate)
    assert judged.accepted
    assert [row[3] for section in judged.sections for row in section.rows] == shown
    assert _judged(baseline, candidate, Policy(reject=Reject(slower=True))).accepted == (not shown)


def test_time_of_tests_without_a_case_is_their_own():
    one = replace(result("tp2", "x", "passed"), own={}, seconds=4.0)
    compared = compare(_run(one), _run(replace(one, seconds=12.0)), Limits())
    assert [(change.before, change.after, change.ratio) for change in compared.slower] == [("4 s", "12 s", 3.0)]


def test_memory_is_that_of_the_case_once():
    def run(mebibytes: str) -> Run:
        return _run(*(result("tp2", check, "passed", peak_memory_mib=mebibytes) for check in ("loss", "norm")))

    compared = compare(run("1000"), run("1500"), Limits())
    assert [(change.what, change.ratio) for change in compared.memory] == [("llama-tp2-float64-adam", 1.5)]
    assert compare(run("100"), run("160"), Limits()).memory == []
    assert not _judged(run("1000"), run("1500"), Policy(reject=Reject(memory=True))).accepted


def test_changed_versions_are_shown():
    good = result("tp2", "loss", "passed")
    before = _run(good, stack="megatron-core", stack_version="0.16.1", host="a", torch="2.13")
    after = _run(good, stack="megatron-core", stack_version="0.19.2", host="b")
    assert [(c.what, c.before, c.after) for c in compare(before, after, Limits()).versions] == [
        ("stack_version", "0.16.1", "0.19.2"),
        ("torch", "2.13", "(not stated)"),
    ]
    assert _judged(before, after).accepted
    assert _judged(before, after, Policy(reject=Reject(versions=True))).why == "2 changed versions"


SHOWN_BEFORE = _run(
    *(result("tp2", check, "passed") for check in ("loss", "norm", "sync")),
    result("pp2", "loss", "failed", "old finding\nmore"),
    result("dp4", "loss", "passed"),
    stack="megatron-core", stack_version="0.16.1",
)  # fmt: skip
SHOWN_AFTER = _run(
    *(result("tp2", check, "error", "rank 3 died\nmore") for check in ("loss", "norm", "sync")),
    result("pp2", "loss", "passed"),
    stack="megatron-core", stack_version="0.19.2",
)  # fmt: skip


def test_the_terminal_says_the_verdict_first_then_what_rejects():
    assert list(terminal(_judged(SHOWN_BEFORE, SHOWN_AFTER))) == [
        "verdict: REJECT - 3 new failures; 1 missing test",
        "  baseline:  5 tests, 3 cases, megatron-core, stack_version 0.16.1",
        "  candidate: 4 tests, 2 cases, megatron-core, stack_version 0.19.2",
        "",
        "new failures: 3 (rejects)",
        "  llama-tp2-float64-adam: loss, norm, sync: passed -> error: rank 3 died",
        "",
        "missing tests: 1 (rejects)",
        "  loss, llama-dp4-float64-adam: passed -> absent",
        "",
        "fixed: 1",
        "  loss, llama-pp2-float64-adam: failed -> passed: old finding",
        "",
        "changed versions: 1",
        "  stack_version: 0.16.1 -> 0.19.2",
    ]


def test_markdown_says_the_same():
    text = markdown(_judged(SHOWN_BEFORE, SHOWN_AFTER)).splitlines()
    assert text[:3] == ["# Meshgate gate: REJECT", "", "3 new failures; 1 missing test"]
    assert "| llama-tp2-float64-adam: loss, norm, sync | passed | error | rank 3 died |" in text
    assert [line for line in text if line.startswith("## ")] == [
        "## new failures: 3 (rejects)",
        "## missing tests: 1 (rejects)",
        "## fixed: 1",
        "## changed versions: 1",
        "## All tests",
    ]
    assert text[-3:] == ["| new failures | 3 |", "| missing tests | 1 |", "| fixed | 1 |"]


def test_long_lists_are_cut_on_the_terminal_and_counted():
    many = _run(*(result(f"tp{number}", "loss", "passed") for number in range(1, 31)))
    lines = list(terminal(_judged(many, _run(result("tp1", "loss", "passed")))))
    assert "missing tests: 29 (rejects)" in lines
    assert lines[-1] == "  ... and 19 more; --markdown FILE or --html FILE has them"
    assert sum(line.endswith("passed -> absent") for line in lines) == 10


def test_text_of_tests_can_not_steer_a_terminal_or_leave_its_cell():
    bad = _run(result("tp2", "loss", "failed", "\x1b[2J\x07 | <script>\u202e"))
    judged = _judged(_run(result("tp2", "loss", "passed")), bad)
    assert all(character.isprintable() for line in terminal(judged) for character in line)
    assert r"\| &lt;script&gt;" in markdown(judged)
    assert all(len(line) <= 150 for line in terminal(_judged(bad, _run(result("tp2", "loss", "failed", "x" * 999)))))


@given(runs(), runs())
@example(Run([], {}), Run([], {}))
def test_anything_can_be_shown(baseline, candidate):
    judged = _judged(baseline, candidate)
    first = next(iter(terminal(judged)))
    assert first.startswith(f"verdict: {judged.verdict} - ")
    assert Counter(dict(judged.counts)).total() == len({r.name for r in [*baseline.results, *candidate.results]})
    assert markdown(judged).startswith(f"# Meshgate gate: {judged.verdict}\n")
