"""The diagnosis names the tensor, the ranks, the axis and the ratio; the coverage check finds every gap and overlap."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle import coverage, diagnose
from fixtures.oracle.evidence import Evidence
from fixtures.oracle.reference import Allowed

pytestmark = pytest.mark.selftest

LAYOUT = Layout.parse("tp2pp2cp2dp2")
KEY = "decoder.layers.3.mlp.linear_fc1.weight"


class FakeReference:
    """A reference with one tensor [4, 2], split in two by rows over tensor parallel ranks."""

    def __init__(self):
        self.numbers = {"losses": [], "grad_norms": []}

    def keys(self):
        return {KEY: [4, 2]}

    def allowed(self, kind, key):
        return Allowed(tolerance=1e-6, scale=2.0)


def evidence(change=lambda rank, row, box: None):
    """Evidence of sixteen ranks; the tensor lies on stage 0. ``change`` spoils rows or boxes."""
    ranks = []
    for rank in range(16):
        at = LAYOUT.coordinates(rank)
        if at["pp"]:
            ranks.append({"boxes": [], "parameters": [], "gradients": [], "weights": []})
            continue
        replica = [0, at["cp"], at["dp"]]
        box = [KEY, [4, 2], [2 * at["tp"], 0], [2, 2], replica]
        row = [0, 1e-9, f"bits{at['tp']}", None]
        change(rank, row, box)
        ranks.append({"boxes": [box], "parameters": ["0.w"], "gradients": [row], "weights": [row]})
    case = Case("megatron-core", "llama", LAYOUT, "float64", "adam", "gpt", 1)
    return Evidence(case, ranks, FakeReference())


def difference(ratio=None, zero=False, wrong=4):
    return {"elements": 4, "wrong": wrong, "first": [1, 0], "ratio": ratio, "zero": zero, "finite": True}


def test_clean_evidence_gives_no_finding():
    clean = evidence()
    assert diagnose.tensors_differ(clean, "gradients", "gradients") is None
    assert diagnose.replicas_differ(clean, "gradients", "gradient_sync") is None
    assert coverage.problems(clean) == []


def test_a_missing_sum_is_named_with_its_ratio():
    def spoil(rank, row, box):
        row[1], row[3] = 1.0, difference(ratio=0.5)

    finding = diagnose.tensors_differ(evidence(spoil), "gradients", "gradients")
    assert finding.module == "decoder.layers.3.mlp.linear_fc1"
    text = str(finding)
    assert text.startswith("gradients: gradient of decoder.layers.3.mlp.linear_fc1 is not the reference's")
    assert "differs by 1, allowed 1e-06 (1e+06 times" in text
    assert "ratio to the reference: 0.5" in text and "one sum over tp=2 were missing" in text
    assert "ranks: 0-7, exactly those with pp0" in text
    assert "all replicas agree" in text


def test_unsynchronised_replicas_name_the_axis():
    def spoil(rank, row, box):
        if LAYOUT.coordinates(rank)["dp"] == 1:
            row[1], row[2], row[3] = 0.5, row[2] + "-other", difference()

    spoilt = evidence(spoil)
    finding = diagnose.replicas_differ(spoilt, "gradients", "gradient_sync")
    assert finding.axes == ("dp",)
    assert "replicas of decoder.layers.3.mlp.linear_fc1 disagree along dp" in str(finding)
    assert "not synchronised over dp (data parallel group)" in str(finding)
    assert diagnose.tensors_differ(spoilt, "gradients", "gradients").axes == ("dp",)


def test_some_wrong_elements_give_their_global_position():
    def spoil(rank, row, box):
        if LAYOUT.coordinates(rank)["tp"] == 1:
            row[1], row[3] = 0.1, difference(wrong=1)

    text = str(diagnose.tensors_differ(evidence(spoil), "gradients", "gradients"))
    assert "1 of 4 elements of this shard are wrong; the first is at [3, 0] of the global tensor [4, 2]" in text
    assert "no constant ratio" in text


def test_nan_is_a_finding():
    def spoil(rank, row, box):
        if rank == 2:
            row[1], row[3] = float("nan"), {**difference(), "finite": False}

    text = str(diagnose.tensors_differ(evidence(spoil), "gradients", "gradients"))
    assert "on rank 2 (tp0 cp1 dp0 pp0)" in text and "NaN or Inf" in text


@pytest.mark.parametrize(
    ("ratio", "line"),
    [
        (0.0, "never arrives"),
        (-1.0, "the sign is wrong"),
        (2.0, "as if a sum over tp=2 were done twice"),
        (0.5, "as if one sum over tp=2 were missing"),
        (0.75, "ratio to the reference: 0.75, the same for every element"),
    ],
)
def test_ratios_in_words(ratio, line):
    assert any(line in said for said in diagnose.explain_ratio(ratio, Layout.parse("tp2dp4")))


def test_only_axes_of_the_ratio_are_candidates():
    assert diagnose.candidate_axes(0.25, Layout.parse("tp2dp4")) == ["dp"]
    assert diagnose.candidate_axes(3.0, Layout.parse("tp2dp4")) == []


def test_keys_are_told_in_short():
    keys = [f"decoder.layers.{layer}.mlp.w" for layer in (0, 1, 2, 5)] + ["output_layer.weight"]
    assert diagnose.summary_of_keys(keys) == "decoder.layers.*.mlp.w (layers 0-2,5), output_layer.weight"


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda rank, row, box: box[2].__setitem__(0, 0), "4 of 8 elements are held"),
        (lambda rank, row, box: box[2].__setitem__(0, min(box[2][0], 1)), "overlap"),
        (lambda rank, row, box: box.__setitem__(1, [5, 2]), "global shape [(5, 2)] against (4, 2)"),
        (lambda rank, row, box: box.__setitem__(0, "other"), "no rank holds it"),
        (lambda rank, row, box: box.__setitem__(4, [0, 0, 0]), "4 main replicas, not one"),
    ],
)
def test_coverage_problems(spoil, problem):
    assert any(problem in line for line in coverage.problems(evidence(spoil)))


def test_evidence_counts_a_loss_once_for_each_replica():
    ranks = [{"losses": [[[10.0, 4]]] if LAYOUT.coordinates(rank)["pp"] else [[]]} for rank in range(16)]
    made = Evidence(SimpleNamespace(layout=LAYOUT), ranks, FakeReference())
    assert made.losses() == [2.5] and made.tokens() == [16]
    assert np.isnan(Evidence(SimpleNamespace(layout=LAYOUT), [{"losses": [[]]}] * 16, FakeReference()).losses()[0])
