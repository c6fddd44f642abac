"""Parts of one run merged: nothing lost, nothing counted twice, no bad result hidden by a good one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.junit import Run, read
from reports.merge import main
from reports.merging import merge
from suites.selftest.reports_schema import violations
from suites.selftest.reports_strategies import OUTCOMES, result, results, runs, write

pytestmark = pytest.mark.selftest

GOOD, BAD = result("tp2", "loss", "passed"), result("tp2", "loss", "failed")
OTHER = result("tp2", "norm", "passed")
ORDER = ("passed", "xfailed", "skipped", "unfinished", "error", "failed")


@given(st.lists(runs(), min_size=1, max_size=4))
def test_every_test_is_there_once_with_its_worst_result(parts):
    merged = merge(parts)
    every = [r for part in parts for r in part.results]
    assert [r.name for r in merged.run.results] == list(dict.fromkeys(r.name for r in every))
    for r in merged.run.results:
        assert r.outcome == max((other.outcome for other in every if other.name == r.name), key=ORDER.index)
    assert [parts[part].results[position] for part, position in merged.picks] == merged.run.results


@given(st.lists(runs(), min_size=1, max_size=4))
def test_the_last_result_counts_where_reruns_are_declared(parts):
    last = {r.name: r for part in parts for r in part.results}
    assert {r.name: r for r in merge(parts, rerun=True).run.results} == last


@given(st.lists(runs(), min_size=2, max_size=4), st.randoms())
def test_the_order_of_parts_does_not_matter(parts, random):
    shuffled = random.sample(parts, len(parts))
    outcomes = [{r.name: r.outcome for r in merge(order).run.results} for order in (parts, shuffled)]
    assert outcomes[0] == outcomes[1]


@given(st.lists(results(), max_size=8))
def test_merging_is_done_after_one_time(many):
    once = merge([Run(many, {"selected": "9"})]).run
    assert merge([once]).run == once
    assert merge([once, once]).run.results == once.results


def test_different_results_are_said():
    assert merge([Run([GOOD], {}), Run([BAD, OTHER], {})]).notes == [
        f"{GOOD.name}: passed, failed in different results; the worst counts"
    ]
    assert merge([Run([BAD], {}), Run([GOOD], {})], rerun=True).notes == [
        f"{GOOD.name}: passed, failed in different results; the last counts"
    ]
    assert merge([Run([GOOD], {}), Run([GOOD, OTHER], {})]).notes == []


def test_of_two_equal_results_the_larger_error_counts():
    small, large = (result("tp2", "loss", "passed", measured=m, tolerance="1.0") for m in ("0.1", "0.9"))
    for order in ([small, large], [large, small]):
        assert merge([Run([one], {}) for one in order]).run.results == [large]


def test_parts_of_different_stacks_are_noticed():
    parts = [Run([GOOD], {"torch": "2.1", "host": "a"}), Run([OTHER], {"torch": "2.2", "host": "b"})]
    assert merge(parts).notes == ["the parts do not have the same torch: 2.1, 2.2"]


@pytest.mark.parametrize(
    ("first", "second", "rerun", "missing", "why"),
    [
        # (selected, names, other bookkeeping) of each part
        (("1", [GOOD]), ("1", [OTHER]), False, 0, ""),
        (("3", [GOOD]), ("1", [OTHER]), False, 2, "the run stopped early; 2 selected tests have no result"),
        # The other part may or may not have run the test that is missing: it can't be said to have.
        (("2", [GOOD]), ("2", [OTHER]), False, 2, "the run stopped early; 2 selected tests have no result"),
        (("2", [GOOD]), ("1", [OTHER]), True, 0, ""),
        (("3", [GOOD]), ("1", [OTHER]), True, 1, "the run stopped early; 1 selected tests have no result"),
        (("2", [BAD, OTHER]), ("1", [GOOD]), True, 0, ""),
        (("", [GOOD]), ("1", [OTHER]), False, 0, ""),
    ],
)
def test_what_is_missing_stays_missing(first, second, rerun, missing, why):
    parts = [Run(names, {"selected": selected} if selected else {}) for selected, names in (first, second)]
    merged = merge(parts, rerun).run
    assert (merged.missing, merged.cut_short) == (missing, why)


def test_how_a_part_ended_is_kept():
    cut, whole = {"exit_status": "2", "interrupted": "Ctrl-C"}, {"exit_status": "0"}
    assert merge([Run([GOOD], cut), Run([OTHER], whole)]).run.cut_short == "Ctrl-C"
    assert merge([Run([OTHER], whole), Run([GOOD], {"exit_status": "3"})]).run.verdict == "INCOMPLETE"
    # A rerun makes good for it only where it is known what was to run.
    assert merge([Run([GOOD], cut), Run([OTHER], whole)], rerun=True).run.cut_short == "Ctrl-C"
    assert merge([Run([GOOD], cut | {"selected": "2"}), Run([OTHER], whole)], rerun=True).run.cut_short == ""
    assert merge([Run([GOOD], whole), Run([OTHER], cut | {"selected": "1"})], rerun=True).run.cut_short == "Ctrl-C"


def test_the_command_writes_a_file_that_says_the_same(tmp_path, capsys):
    first = write(
        tmp_path / "1.xml", [GOOD, replace(OTHER, seconds=1.5)], {"torch": "2.1", "selected": "2", "exit_status": "0"}
    )
    second = write(tmp_path / "2.xml", [replace(BAD, message='a <b>\n & "c"')], {"torch": "2.2", "exit_status": "1"})
    out = tmp_path / "out.xml"
    assert main([str(out), str(first), str(second)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "note: the parts do not have the same torch: 2.1, 2.2",
        f"note: {GOOD.name}: passed, failed in different results; the worst counts",
        f"{out}: 2 tests of 2 files; REJECT",
    ]
    run = read(out)
    assert [(r.name, r.outcome, r.message, r.seconds) for r in run.results] == [
        (GOOD.name, "failed", 'a <b>\n & "c"', 0.0),
        (OTHER.name, "passed", "", 1.5),
    ]
    assert run.properties == {"torch": "2.2", "selected": "2", "exit_status": "1"}
    # A test keeps the version that it ran with.
    assert [r.properties["torch"] for r in run.results] == ["2.2", "2.1"]
    assert ' tests="2" errors="0" failures="1" skipped="0" time="1.500"' in out.read_text()
    assert list(tmp_path.glob("*.part")) == []


def test_output_of_tests_is_kept(tmp_path):
    path = tmp_path / "1.xml"
    test = '<testcase name="a" file="a.py" line="3"><system-out>said &lt;x&gt;</system-out></testcase>'
    path.write_text(f"<testsuite>{test}</testsuite>")
    assert main([str(tmp_path / "out.xml"), str(path)]) == 0
    assert test in (tmp_path / "out.xml").read_text()


def test_the_output_can_be_one_of_the_files(tmp_path):
    first, second = write(tmp_path / "1.xml", [GOOD]), write(tmp_path / "2.xml", [OTHER])
    assert main([str(first), str(first), str(second)]) == 0
    assert [r.name for r in read(first).results] == [GOOD.name, OTHER.name]


def test_unusable_files(tmp_path, capsys):
    good, damaged = write(tmp_path / "good.xml", [GOOD]), tmp_path / "damaged.xml"
    damaged.write_text("<testsuite>")
    out = tmp_path / "out.xml"
    assert main([str(out), str(good), str(damaged)]) == 2
    assert capsys.readouterr().err.startswith(f"reports.merge: {damaged}: not a JUnit report: no element found")
    assert not out.exists()
    assert main([str(tmp_path / "none" / "out.xml"), str(good)]) == 2
    assert capsys.readouterr().err == f"reports.merge: {tmp_path}/none/out.xml: can't be written: No such file or directory\n"


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6), st.data())
def test_splitting_a_run_and_merging_it_gives_the_run(tmp_path_factory, outcomes, data):
    folder = tmp_path_factory.mktemp("parts")
    whole = [result(f"tp{number + 1}", "loss", outcome) for number, outcome in enumerate(outcomes)]
    cut = data.draw(st.integers(0, len(whole)))
    parts = [
        write(folder / f"{number}.xml", part, {"selected": str(len(part)), "exit_status": "0"})
        for number, part in enumerate((whole[:cut], whole[cut:]))
    ]
    assert main([str(folder / "out.xml"), *map(str, parts)]) == 0
    merged = read(folder / "out.xml")
    assert [(r.name, r.outcome, r.own) for r in merged.results] == [(r.name, r.outcome, r.own) for r in whole]
    assert merged.missing == 0


def test_a_merged_file_has_the_form_that_ci_systems_take(tmp_path):
    many = [result("tp2", f"c{number}", outcome) for number, outcome in enumerate([*OUTCOMES, "unfinished"])]
    first = write(tmp_path / "1.xml", many, {"torch": "2.1"})
    text = first.read_text().replace("<testcase ", '<testcase classname="suites.a" ')
    first.write_text(text)
    assert main([str(tmp_path / "out.xml"), str(first), str(first)]) == 0
    assert violations(tmp_path / "out.xml") == []
