"""What context parallelism's checks make of what ranks found: words, findings, and known issues. Without ranks."""

from pathlib import Path

import pytest

from fixtures.known_issues import Situation, matching, read_folder
from fixtures.plugin.known import words
from suites.context_parallel import verdicts
from suites.context_parallel.compact import compact
from suites.context_parallel.probes import ENGINE, KINDS, LOCAL, Probe, attention
from suites.context_parallel.test_attention import LOCAL_REFUSES, judged
from suites.context_parallel.test_loss import loss_verdict
from suites.context_parallel.test_packed import cut_verdict

pytestmark = pytest.mark.selftest

_REFUSED = {"raised": f"AssertionError: {LOCAL_REFUSES} when instantiating SelfAttention", "tensors": {}}
_FOLDER = Path(__file__).parents[2] / "fixtures" / "known_issues"


def _ran(measured=1e-9, tolerance=1e-6, **more):
    cell = {"measured": measured, "tolerance": tolerance, "size": 1.0}
    return {"raised": None, "tensors": {"output": dict(cell), "gradient of the input": {**cell, "measured": 0.0}}, **more}


def test_local_attention_that_refuses_as_documented_passes():
    verdict = judged(Probe("attention", 2, "MHA", LOCAL), [_REFUSED, _REFUSED])
    assert (verdict.word, verdict.finding) == (verdicts.REFUSES, None)
    assert verdict.why == f"AssertionError: {LOCAL_REFUSES}"


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([_ran(), _ran()], "ranks [0, 1] run, where the stack refuses"),
        ([_REFUSED, _ran()], "ranks [1] run, where the stack refuses"),
        ([_REFUSED, {"raised": "KeyError: 'cp'", "tensors": {}}], "KeyError: 'cp', where a refusal with"),
    ],
)
def test_local_attention_that_does_anything_else_is_a_finding(ranks, said):
    verdict = judged(Probe("attention", 2, "MHA", LOCAL), ranks)
    assert verdict.word == verdicts.WRONG
    assert said in verdict.finding


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([_ran(), _ran(measured=2e-6)], "output differs from one rank by 2e-06 on rank 1, 2 times its tolerance"),
        ([_ran(), _ran(measured=float("inf"))], "output differs from one rank by inf on rank 1"),
        ([_ran(), _REFUSED], "raised AssertionError"),
        ([{"raised": None, "tensors": {}}], "nothing was compared"),
        ([_ran(measured=1e-300, tolerance=0.0)], "output differs"),
    ],
)
def test_attention_that_is_not_that_of_one_rank_is_a_finding(ranks, said):
    verdict = judged(Probe("attention", 2, "MHA", "stand-in"), ranks)
    assert verdict.word == verdicts.WRONG
    assert said in verdict.finding


def test_attention_within_its_tolerance_passes_with_its_numbers():
    verdict = judged(Probe("attention", 2, "MHA", "stand-in"), [_ran(), _ran(measured=5e-7)])
    assert (verdict.word, verdict.finding, verdict.measured, verdict.tolerance) == (verdicts.WORKS, None, 5e-7, 1e-6)


def _loss(mode, mask, trained, distance=0.0, measured=1e-9):
    probe = Probe("loss", 2, detail=f"{mode}, mask {mask}")
    return loss_verdict(probe, mode, mask, [_ran(measured, trained=[n], from_one_rank=distance) for n in trained])


def test_the_default_loss_depends_on_the_cut_only_where_ranks_train_on_unequal_numbers_of_tokens():
    assert _loss("default", "prompts", (20, 30), 0.25).word == verdicts.DEPENDS
    assert _loss("default", "every fourth", (24, 24)).word == verdicts.WORKS
    assert _loss("per token", "prompts", (20, 30)).word == verdicts.WORKS


def test_a_loss_check_that_could_not_fail_is_a_finding():
    assert "nothing is shown" in _loss("per token", "prompts", (24, 24)).finding
    assert "where its definition does not" in _loss("default", "prompts", (20, 30), 1e-9).finding
    assert "differs" in _loss("default", "prompts", (20, 30), 0.25, measured=1.0).finding


def test_a_cut_of_documents_must_be_right_or_refused_by_name():
    probe = Probe("packed batch", 2)
    right = {"raised": None, "positions": [0, 3], "expected": [0, 3]}
    wrong = {"raised": None, "positions": [0, 1], "expected": [0, 3]}
    named = {"raised": "AssertionError: Please update Transformer Engine to >= 1.10", "positions": [], "expected": [0, 3]}
    silent = {"raised": "AttributeError: 'NoneType'", "positions": [], "expected": [0, 3]}
    assert cut_verdict(probe, [right, right], engine=True).word == verdicts.WORKS
    assert "rank 1 has [0, 1], and should have [0, 3]" in cut_verdict(probe, [right, wrong], engine=True).finding
    assert cut_verdict(probe, [named, named], engine=False).word == verdicts.REFUSES
    assert "'NoneType'" in cut_verdict(probe, [silent, silent], engine=False).finding
    assert "ranks [0, 1] run" in cut_verdict(probe, [right, right], engine=False).finding


def test_ids_are_unique_and_none_is_the_end_of_another():
    ids = [probe.id for probe in (*attention("attention"), *attention("packed"))]
    assert len(set(ids)) == len(ids) == 2 * len(KINDS) * (3 + 5 + 6)


@pytest.mark.parametrize(
    ("engine", "way", "cp", "expected"),
    [
        ("2.4.0", "p2p", 2, ["engine-latent-attention-context-parallel"]),
        ("2.4.0", "a2a+p2p", 4, ["engine-latent-attention-context-parallel"]),
        ("2.4.0", "", 1, []),
        ("2.5.0", "p2p", 2, []),
        ("2.5.0", "a2a+p2p", 4, []),
        ("2.5.0", "a2a", 2, ["engine-latent-attention-gathered"]),
        ("2.14.1", "all_gather", 4, ["engine-latent-attention-gathered"]),
        ("2.15.0", "a2a", 4, []),
    ],
)
def test_latent_attention_with_an_older_engine_is_a_known_issue(engine, way, cp, expected):
    entries = read_folder(_FOLDER, words())
    probe = Probe("attention", cp, "MLA", f"{ENGINE} {way}".strip())

    def found(device, kind="MLA"):
        asked = probe if kind == "MLA" else Probe("attention", cp, kind, probe.mechanism)
        versions = {"megatron-core": "0.19.2", "transformer-engine": engine}
        return [entry.id for entry in matching(entries, Situation("cp_attention", asked.case, versions, device, asked.id))]

    assert found("gpu") == expected
    assert found("cpu") == []
    assert found("gpu", "GQA") == []


def test_the_compact_table_has_a_line_for_each_question_and_each_reason_once():
    def row(mechanism, cp, result, why=""):
        return {"what": "attention", "attention": "MHA", "mechanism": mechanism, "cp": cp, "result": result, "why": why}

    rows = [row("local", 1, "works", "err/tol 0"), row("local", 2, "refuses", "no cp"), row("local", 4, "refuses", "no cp")]
    rows += [row(f"{ENGINE} {way}", cp, "untested here", "no engine") for cp in (2, 4) for way in ("p2p", "a2a")]
    assert compact(rows) == [
        "                                           cp1    cp2                cp4",
        "attention MHA local                        works  refuses [1]        refuses [1]",
        "attention MHA transformer engine p2p, a2a  -      untested here [2]  untested here [2]",
        "[1] no cp",
        "[2] no engine",
    ]
    assert compact([]) == []
