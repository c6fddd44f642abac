"""Formulas and counts of the checks of experts, on numbers that can be worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle import cut, diagnose, routing, traffic

pytestmark = pytest.mark.selftest


def case(layout, architecture="qwen3-moe", feature=None):
    return Case("megatron-core", architecture, Layout.parse(layout), "float64", "adam", "gpt", 1, moe_feature=feature)


def test_balance_loss_is_one_where_experts_are_equally_loaded_and_their_number_where_one_has_all():
    even = np.zeros((4, 2, 4))
    for token in range(8):
        even[token % 4, token // 4, token % 4] = 30.0  # each expert is the sure choice of two tokens
    assert routing.balance_losses([even], 1, "microbatch") == pytest.approx([1.0])
    one = np.zeros((4, 2, 4))
    one[..., 2] = 30.0
    assert routing.balance_losses([one], 1, "microbatch") == pytest.approx([4.0])


def test_balance_loss_over_sequences_is_not_that_over_the_microbatch():
    # Each sequence sends all its tokens to one expert, the two to different ones: balanced together, not each by itself.
    logits = np.zeros((3, 2, 2))
    logits[:, 0, 0] = logits[:, 1, 1] = 30.0
    assert routing.balance_losses([logits], 1, "microbatch") == pytest.approx([1.0])
    assert routing.balance_losses([logits], 1, "sequence") == pytest.approx([2.0])


def test_balance_loss_over_the_batch_takes_the_load_so_far():
    first, second = np.zeros((2, 1, 2)), np.zeros((2, 1, 2))
    first[..., 0], second[..., 1] = 30.0, 30.0
    assert routing.balance_losses([first, second], 1, "batch") == pytest.approx([2.0, 1.0])
    assert routing.balance_losses([first, second], 1, "microbatch") == pytest.approx([2.0, 2.0])


def test_z_loss_is_the_mean_squared_log_of_the_sum():
    logits = np.log(np.array([[[1.0, 2.0, 1.0]], [[2.0, 2.0, 4.0]]]))
    assert routing.z_loss(logits) == pytest.approx((math.log(4) ** 2 + math.log(8) ** 2) / 2)


def test_margin_is_between_the_last_chosen_and_the_first_other():
    assert routing.margins_of(np.array([[4.0, 1.0, 3.0, 2.5]]), 2) == pytest.approx([0.5])


def test_choices_are_compared_by_sample_and_position(tmp_path):
    rng = np.random.default_rng(1)
    logits = rng.standard_normal((4, 3, 5))
    maps = routing.chosen_map(logits, 2)
    # The samples 1, 0 in one microbatch and 2 in the next: the order on disk is that of the global batch.
    parts = [[1, 0], [2]]
    routing.write_sample(
        tmp_path, "sample0", {7: [maps[:, [1, 0]], maps[:, [2]]]}, {7: [logits[:, [1, 0]], logits[:, [2]]]}, parts, 2
    )
    moved = logits.copy()
    moved[3, 2] = -moved[3, 2]
    routing.write_sample(
        tmp_path, "sample1", {7: [maps[:, [1, 0]], maps[:, [2]]]}, {7: [moved[:, [1, 0]], moved[:, [2]]]}, parts, 2
    )
    numbers = routing.combine(tmp_path, 1, [7], 5, 4.0)
    assert numbers["flips"] == 1
    assert numbers["tokens"] == 12
    assert numbers["smallest_margin"] == pytest.approx(routing.margins_of(logits, 2).min())
    choices = routing.Choices(tmp_path, numbers)
    here = maps[[1, 3]][:, [2, 0]]
    assert choices.differing(7, [here], [[2, 0]], np.array([1, 3]))["differing"] == 0
    wrong = here.copy()
    wrong[1, 0] = ~wrong[1, 0]
    found = choices.differing(7, [wrong], [[2, 0]], np.array([1, 3]))
    assert (found["differing"], found["tokens"], found["first"][:2]) == (1, 4, [2, 3])
    assert found["first"][3] == np.flatnonzero(maps[3, 2]).tolist()
    assert found["margin"] == pytest.approx(routing.margins_of(logits, 2)[3, 2])


@pytest.mark.parametrize(
    ("layout", "feature", "first", "later"),
    [
        ("dp1", None, [16, 2], [32, 1]),
        ("tp2pp4dp2ep2", None, [4, 8], [16, 2]),
        ("pp2dp2vpp2", None, [8, 4], [8, 4]),
        ("dp2", "global-balance", [16, 2], [32, 1]),
    ],
)
def test_the_reference_cuts_as_the_layout_does(layout, feature, first, later):
    for step, (size, count) in ((0, first), (1, later)):
        parts = cut.samples_of(case(layout, feature=feature), step)
        assert [len(part) for part in parts] == [size] * count
        assert sorted(sample for part in parts for sample in part) == list(range(32))


def test_microbatches_of_all_data_parallel_ranks_are_one_where_the_loss_is_over_the_batch():
    assert cut.samples_of(case("dp2", feature="global-balance"), 0)[0] == [*range(8), *range(16, 24)]


def test_a_dense_model_is_not_cut():
    assert cut.samples_of(case("tp2pp4dp2", "llama"), 0) == [list(range(32))]
    assert cut.name_of(case("tp2pp4dp2", "llama")) == ""
    assert cut.name_of(case("tp2pp4dp2")) != cut.name_of(case("tp2pp2dp2"))
    assert cut.name_of(case("dp2", feature="global-balance")) != cut.name_of(case("dp2"))


def _ranks(**changes):
    """Two ranks of one dispatch group, an expert each: rank 0 sends 2 tokens to expert 0 and 1 to 1, rank 1 sends 3 to 1."""
    rows = [
        {
            "routed": [2, 1], "routed_sum": [5.0, 1.0], "routed_size": [5.0, 1.0],
            "received": {"0": 2}, "received_sum": {"0": 5.0}, "received_size": {"0": 5.0},
            "made_sum": 3.0, "made_size": 3.0, "combined_sum": 4.0, "combined_size": 4.0,
        },
        {
            "routed": [0, 3], "routed_sum": [0.0, 6.0], "routed_size": [0.0, 6.0],
            "received": {"1": 4}, "received_sum": {"1": 7.0}, "received_size": {"1": 7.0},
            "made_sum": 8.0, "made_size": 8.0, "combined_sum": 7.0, "combined_size": 7.0,
        },
    ]  # fmt: skip
    rows[1] |= changes
    return [{"experts": {"traffic": {"0": row}}} for row in rows]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"received": {"1": 3}}, ["layer 0, ranks [0, 1]: 4 tokens are sent to expert 1, 3 arrive"]),
        (
            {"received_sum": {"1": 7.5}},
            ["layer 0, ranks [0, 1]: what arrives at expert 1 is not what is sent to it: checksum 7.5 against 7.0"],
        ),
        (
            {"combined_sum": 6.0},
            ["layer 0, ranks [0, 1]: what comes back is not what the experts made: checksum 10.0 against 11.0"],
        ),
    ],
)
def test_lost_and_exchanged_tokens_are_told(changes, said):
    assert list(traffic.problems(SimpleNamespace(case=case("dp2ep2"), ranks=_ranks(**changes)))) == said


def test_axes_of_a_tensor():
    assert diagnose.axes_of("decoder.layers.1.mlp.experts.experts.linear_fc1.weight") == ("etp", "ep", "edp", "pp")
    assert diagnose.axes_of("decoder.layers.1.mlp.shared_experts.linear_fc1.weight") == ("tp", "cp", "dp", "pp")
    assert diagnose.axes_of("decoder.layers.1.mlp.router.weight") == ("tp", "cp", "dp", "pp")


def test_a_ratio_of_experts_is_explained_by_their_axes():
    layout = Layout.parse("tp2dp4ep2etp1")  # edp 4
    axes = diagnose.axes_of("mlp.experts.experts.linear_fc1.weight")
    assert diagnose.candidate_axes(0.25, layout, axes) == ["edp"]
    assert diagnose.candidate_axes(0.25, layout) == ["dp"]
    assert diagnose.candidate_axes(2.0, layout, axes) == ["ep"]
