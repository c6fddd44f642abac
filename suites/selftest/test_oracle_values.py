"""Canonical numbers depend on name and position only, and look like what they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.oracle import batch, values

pytestmark = pytest.mark.selftest


@given(st.data())
def test_a_shard_is_a_window_of_the_whole(data):
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    offset = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    local = [data.draw(st.integers(1, extent - start)) for extent, start in zip(shape, offset, strict=True)]
    whole = values.uniform(7, "w", shape, [0] * len(shape), shape)
    window = tuple(slice(start, start + extent) for start, extent in zip(offset, local, strict=True))
    np.testing.assert_array_equal(values.uniform(7, "w", shape, offset, local), whole[window])


def test_values_are_uniform_and_depend_on_seed_and_key():
    sample = values.uniform(1, "a", (100_000,), (0,), (100_000,))
    assert sample.min() >= -1.0 and sample.max() < 1.0
    # Mean 0 and variance 1/3; five standard deviations of the mean and of the variance of 1e5 draws.
    assert abs(sample.mean()) < 5 * np.sqrt(1 / 3 / 1e5)
    assert abs(sample.var() - 1 / 3) < 5 * np.sqrt(4 / 45 / 1e5)
    assert not np.array_equal(sample, values.uniform(2, "a", (100_000,), (0,), (100_000,)))
    assert not np.array_equal(sample, values.uniform(1, "b", (100_000,), (0,), (100_000,)))


def test_known_values_stay_the_same_from_release_to_release():
    np.testing.assert_array_equal(
        values.uniform(1234, "key", (2, 2), (0, 0), (2, 2)),
        np.array(KNOWN),
    )


KNOWN = [[0.9306670289257992, 0.7495174603913883], [0.6120312914713666, -0.37620911756484454]]


def test_integers_are_in_range_and_cover_it():
    drawn = values.integers(3, "tokens", 10_000, 64)
    assert drawn.min() == 0 and drawn.max() == 63
    assert np.bincount(drawn).min() > 100  # expected 156 of each, standard deviation 12


@pytest.mark.parametrize(
    ("key", "shape", "center", "spread"),
    [
        ("decoder.layers.0.input_layernorm.weight", (64,), 1.0, 0.2),
        ("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", (64,), 1.0, 0.2),
        ("decoder.layers.0.mlp.linear_fc1.bias", (64,), 0.0, 0.1),
        ("decoder.layers.0.mlp.linear_fc1.weight", (16, 48), 0.0, 0.25),
    ],
)
def test_initial_weights_by_kind(key, shape, center, spread):
    weights = values.initial_weight(1, key, shape, (0,) * len(shape), shape)
    assert np.all(np.abs(weights - center) <= spread)
    assert weights.std() > spread / 3  # none of it constant


@given(st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 2))
def test_every_sample_is_in_exactly_one_microbatch(dp, pp, step):
    if dp * pp > 16:
        return
    plan = batch.plan(dp, pp, None, step)
    seen = [i for rank in range(dp) for k in range(plan.num_microbatches) for i in plan.sample_ids(rank, k)]
    assert sorted(seen) == list(range(batch.GLOBAL_BATCH))


def test_a_batch_that_cannot_be_cut_says_what_can():
    with pytest.raises(ValueError, match="use a multiple of 6"):
        batch.plan(3, 1, None, 0)
