"""The soak: what it draws, what it keeps, how an alarm is told; and a planted fault is one."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from fixtures import architectures
from fixtures.case import MOE_FEATURES, OPTIMIZERS, PRECISIONS, Case
from fixtures.layout import Layout
from fixtures.oracle.evidence import Evidence
from fixtures.plugin.cases import reasons
from fixtures.plugin.variants import Variant
from fixtures.soak.draw import ROUND, Choice, case_of
from fixtures.soak.journal import Row, UnusableJournal, append, open_journal
from fixtures.soak.shrink import command, shrink, simpler
from fixtures.soak.summary import summary
from suites.judging import checks_of_case
from suites.soak.judging import judge

pytestmark = pytest.mark.selftest

CHOICE = Choice(8, ("gpt", "hybrid"), (("megatron-core", "0.19.2"),))
HEAD = {"soak_seed": 1, "ranks": 8}


@pytest.fixture(scope="module")
def drawn():
    return [case_of(7, number, CHOICE) for number in range(400)]


def test_a_case_is_a_function_of_seed_and_number(drawn):
    assert [case_of(7, number, CHOICE) for number in (399, 3, 17)] == [drawn[399], drawn[3], drawn[17]]
    assert case_of(8, 3, CHOICE) != drawn[3]
    script = "from fixtures.soak.draw import *; c = Choice(8, ('gpt', 'hybrid'), (('megatron-core', '0.19.2'),)); " \
             "print([(case_of(7, n, c).id, case_of(7, n, c).seed) for n in (3, 17)])"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str([(drawn[n].id, drawn[n].seed) for n in (3, 17)])


def test_cases_of_a_round_share_their_model(drawn):
    rounds = {
        (number // ROUND, case.architecture, case.model_class, case.precision, case.seed) for number, case in enumerate(drawn)
    }
    assert len(rounds) == len(drawn) // ROUND
    assert len({case.seed for case in drawn}) == len(drawn) // ROUND
    assert len({(case.id, case.seed) for case in drawn}) > 0.95 * len(drawn)


def test_everything_is_drawn(drawn):
    assert {case.architecture for case in drawn} == set(architectures.names())
    assert {case.precision for case in drawn} == set(PRECISIONS)
    assert {case.optimizer for case in drawn} == set(OPTIMIZERS)
    assert {case.model_class for case in drawn} == {"gpt", "hybrid"}
    assert {case.moe_dispatcher for case in drawn} == {"alltoall", "allgather"}  # flex needs a library
    assert {case.moe_feature for case in drawn} == {None, *MOE_FEATURES} - {"grouped-gemm"}  # needs one too
    assert {case.latent_projection for case in drawn} == {"split", "duplicated"}
    assert {case.pipeline_form for case in drawn} >= {"auto", "ends", "layout"}
    layouts = [case.layout for case in drawn]
    for axis in ("tp", "pp", "cp", "dp", "ep"):
        assert {getattr(layout, axis) for layout in layouts} >= {1, 2, 4}, axis
    assert {layout.world for layout in layouts} == {2, 4, 8}
    assert {layout.vpp for layout in layouts} == {None, 2, 3}
    assert {layout.nosp for layout in layouts} == {True, False}
    assert any(layout.etp is not None for layout in layouts) and any(layout.pp_split is not None for layout in layouts)


def test_only_what_can_run_is_drawn(drawn):
    for case in drawn:
        variant = Variant(case.moe_dispatcher, case.moe_feature, case.latent_projection, case.pipeline_form)
        assert reasons(case.layout, case.model, variant, case.model_class, 8) == [], case.id


def test_ranks_are_a_limit():
    few = [case_of(7, number, replace(CHOICE, ranks=2)) for number in range(40)]
    assert {case.layout.world for case in few} == {2}
    assert 16 in {case_of(7, number, replace(CHOICE, ranks=16)).layout.world for number in range(20)}


def row(number, **changes):
    fields = {
        "number": number,
        "case": f"case{number}",
        "seed": 5,
        "architecture": "llama",
        "precision": "float64",
        "checks": 15,
    }
    return Row(**{**fields, **changes})


def test_file_gives_back_what_was_done(tmp_path):
    path = tmp_path / "deep" / "soak.jsonl"
    assert open_journal(path, HEAD) == {}
    append(path, row(0, alarms={"loss": "loss: wrong"}))
    append(path, row(1, worst={"loss": 0.5}))
    append(path, row(0))
    with path.open("a") as file:
        file.write('{"number": 2, "case"')  # killed in the middle of a line
    assert open_journal(path, HEAD) == {0: row(0), 1: row(1, worst={"loss": 0.5})}


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"soak_seed": 2, "ranks": 8}\n', "other soak_seed"), ("hello\n", "no file of a soak"), ("3\n", "other head")],
)
def test_file_of_another_soak_is_refused(tmp_path, text, words):
    path = tmp_path / "soak.jsonl"
    path.write_text(text)
    with pytest.raises(UnusableJournal, match=words):
        open_journal(path, HEAD)


def test_summary_counts_apart():
    rows = [
        row(0, worst={"loss": 0.25}), row(1, known={"z_loss": "an-issue"}, worst={"loss": 0.5}),
        row(2, precision="float32", alarms={"loss": "loss: wrong"}, command="pytest -m multinode --layout dp2"),
    ]  # fmt: skip
    lines = summary(rows, 1, 10, 1234)
    assert lines[0] == (
        "soak seed 1234: 3 of 10 cases (1 of them before), 45 checks, 1 cases with an alarm, 1 with known issues; 0 s"
    )
    assert [line.split()[:3] for line in lines[1:3]] == [["llama", "float32", "1"], ["llama", "float64", "2"]]
    assert "  largest error / tolerance of checks that passed: loss 0.5" in lines
    assert lines[-2:] == ["  ALARM 2 loss: loss: wrong", "    pytest -m multinode --layout dp2"]


def test_command_names_what_is_not_the_default():
    case = Case("megatron-core", "deepseek-v2-lite", Layout.parse("tp2pp2@14+13"), "float32", "distributed", "gpt", 9,
                moe_dispatcher="allgather", pipeline_form="ends")  # fmt: skip
    assert command(case) == (
        "pytest -m multinode --layout tp2pp2@14+13 --architecture deepseek-v2-lite --precision float32 --optimizer distributed "
        "--seed 9 --moe-dispatcher allgather --pipeline-form ends"
    )


def test_an_alarm_is_made_small():
    case = Case("megatron-core", "llama", Layout.parse("tp2pp2@3+5cp2nosp"), "float64", "distributed-overlap", "gpt", 9)
    small = shrink(case, lambda other: other.layout.cp == 2, attempts=30)
    assert (str(small.layout), small.optimizer) == ("cp2", "adam")
    assert shrink(case, lambda other: False) == case
    tried = []
    shrink(case, lambda other: bool(tried.append(other)), attempts=2)
    assert len(tried) == 2
    for drawn in (case_of(7, number, CHOICE) for number in range(0, 200, 3)):
        for other in simpler(drawn):
            variant = Variant(other.moe_dispatcher, other.moe_feature, other.latent_projection, other.pipeline_form)
            assert other != drawn and reasons(other.layout, other.model, variant, other.model_class, 8) == []


CASE = Case("megatron-core", "llama", Layout.parse("tp2dp2"), "float64", "adam", "gpt", 1234)


@pytest.mark.parametrize("fault", ["nothing", "norm_gradients_not_summed"])
def test_a_planted_fault_is_an_alarm_and_a_clean_run_none(runs, gang_pool, fault):
    def run(case):
        reference = runs.reference(case)
        params = {"case": case.to_json(), "reference": str(runs.folder_of(case)), "fault": fault}
        return Evidence(case, gang_pool.run("suites.faults.planted:run", case.layout.world, params), reference)

    judged = judge(CASE, run, lambda check, case: [])
    assert judged.checks == len(checks_of_case(CASE)) == 15
    assert judged.known == {}
    if fault == "nothing":
        assert judged.alarms == {}
        assert set(judged.worst) == {"loss", "loss_trajectory", "gradients", "weights", "gradient_norm"}
    else:
        assert {"gradients", "gradient_sync"} <= set(judged.alarms)
        assert "disagree along tp" in judged.alarms["gradient_sync"]


class _Entry:
    id, expect, text = "an-issue", "finding", ("loss of step",)


def with_losses_doubled(evidence):
    return [
        {**rank, "losses": [[(2 * total, count) for total, count in step] for step in rank["losses"]]}
        for rank in evidence.ranks
    ]


def test_known_issues_are_no_alarms_and_their_absence_is_one(runs):
    def only_loss(check, case):
        return [_Entry] if check == "loss" else []

    evidence = runs.run(CASE)
    assert judge(CASE, lambda case: evidence, only_loss).alarms == {
        "loss": "loss: the known issue an-issue is expected here, and nothing failed"
    }
    wrong = [
        {**rank, "losses": [[(2 * total, count) for total, count in step] for step in rank["losses"]]}
        for rank in evidence.ranks
    ]
    judged = judge(CASE, lambda case: Evidence(case, wrong, evidence.reference), only_loss)
    assert judged.known == {"loss": "an-issue"}
    assert set(judged.alarms) == {"loss_trajectory"}


def test_bfloat16_may_show_what_is_declared_for_float32(runs):
    case = replace(CASE, precision="bfloat16")
    evidence = runs.run(case)
    wrong = [
        {**rank, "losses": [[(2 * total, count) for total, count in step] for step in rank["losses"]]}
        for rank in evidence.ranks
    ]
    asked = Counter()

    def declared(check, other):
        asked[other.precision] += 1
        return [_Entry] if check == "loss" and other.precision == "float32" else []

    judged = judge(case, lambda _: Evidence(case, wrong, evidence.reference), declared)
    assert judged.known == {"loss": "an-issue"} and set(judged.alarms) == {"loss_trajectory"}
    assert judge(case, lambda _: evidence, declared).alarms == {}
    assert asked["float32"] == 2  # loss and loss_trajectory: only checks that failed


def test_a_run_goes_on_where_the_last_one_ended(request, tmp_path):
    file = tmp_path / "soak.jsonl"

    def run(cases):
        command = [sys.executable, "-m", "pytest", "-q", "-m", "soak", "--soak-seed=7", "--soak-ranks=2", f"--soak-file={file}"]
        command += [f"--soak-cases={cases}", f"--reports-dir={tmp_path}", "-p", "no:cacheprovider"]
        command += [f"--stack-python={request.config.getoption('--stack-python')}"]
        return subprocess.run(command, cwd=request.config.rootpath, capture_output=True, text=True, timeout=300).stdout

    said = run(1)
    assert "1 passed" in said and "soak seed 7: 1 of 1 cases," in said, said
    said = run(2)
    assert "1 passed, " in said and "soak seed 7: 2 of 2 cases (1 of them before)" in said, said
    assert sum(b'"number"' in line for line in file.read_bytes().splitlines()) == 2
