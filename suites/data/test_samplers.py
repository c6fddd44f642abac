"""The sampler that stands for Megatron-LM's where that is not installed deals out the same samples."""

from itertools import product

import pytest

# total, consumed, micro batch size, data parallel ranks -> microbatches of each rank, by hand
BY_HAND = {
    (12, 0, 2, 2): [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]],
    (11, 4, 2, 2): [[[4, 5]], [[6, 7]]],
    (5, 1, 1, 3): [[[1]], [[2]], [[3]]],
}


@pytest.fixture(scope="module")
def dealt(gang_pool):
    """``dealt(cases)``: what the samplers deal out."""
    return lambda cases: gang_pool.run("suites.data.samplers:run", 1, {"cases": [list(case) for case in cases]})[0]


def test_stand_in_is_right_by_hand(dealt):
    assert dealt(BY_HAND)["own"] == list(BY_HAND.values())


def test_stand_in_equals_the_stacks(dealt):
    cases = [case for case in product((1, 7, 24, 33), (0, 3, 8), (1, 2, 3), (1, 2, 4)) if case[1] < case[0]]
    found = dealt(cases)
    if found["theirs"] is None:
        pytest.skip("megatron-core is installed without megatron.training: no sampler to compare with")
    assert found["own"] == found["theirs"]
    assert any(batches for ranks in found["own"] for batches in ranks)
