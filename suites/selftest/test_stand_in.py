"""The stand-in computes what it stands for. Measured inside a gang, since it lives in rank processes."""

import pytest

pytestmark = pytest.mark.selftest


def _skip_on_gpus(environment):
    if environment["stand_in"] == "off":
        pytest.skip("the stand-in is off: torch sees a GPU here")


@pytest.mark.parametrize("world", [4, 5])
def test_direct_collectives_equal_gloos(gang_pool, world):
    for rank, rows in enumerate(gang_pool.run("fixtures.scenarios.stand_in:collectives", world, {})):
        assert len(rows) == 4 * 4 * 2 * 5
        # Small integers: every sum is exact in every type, so that the order of summation can't matter.
        assert [row for row in rows if row["difference"] != 0] == [], f"rank {rank}"


@pytest.mark.parametrize("world", [1, 2, 4])
def test_attention_equals_torchs_whole_attention(gang_pool, world):
    for differences in gang_pool.run("fixtures.scenarios.stand_in:attention", world, {}):
        # Values of size one, sums of at most 16 terms in float64: a few dozen roundings of 1.1e-16.
        assert all(difference < 1e-14 for difference in differences.values()), differences


def test_monte_carlo_arithmetic_perturbs_by_one_rounding_and_only_what_rounds(gang_pool):
    found = gang_pool.run("fixtures.scenarios.stand_in:monte_carlo", 1, {})[0]
    # 50 terms round up to 64; errors are uniform up to twice sqrt(64) roundings, so that the largest of 2500 is close to 16.
    assert (found["product_terms"], found["sum_terms"], found["elementwise_terms"]) == (64, 64, 1)
    assert 12.0 < found["product_roundings"] < 18.0
    assert found["changed"] > 0.3
    assert found["input_kept"] and found["copy_exact"]
    assert found["operations"] == 1
    assert 0.5 < found["cast_roundings"] < 4.0


def test_adam_equals_torchs(gang_pool):
    found = gang_pool.run("fixtures.scenarios.stand_in:adam", 1, {})[0]
    for name in ("AdamW", "Adam"):
        # Five steps on values of size one, in float64.
        assert found[name] < 1e-14
        assert found[f"{name} moved"] > 0.1
        assert found[f"{name} steps"] == 5
