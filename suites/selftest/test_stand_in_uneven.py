"""Tensors of different sizes in collectives: NCCL has them, gloo has not, and tensor parallel experts need them."""

import pytest

pytestmark = pytest.mark.selftest


@pytest.mark.parametrize("ranks", [2, 4])
def test_gather_scatter_and_exchange_of_different_sizes(gang_pool, ranks):
    rows = gang_pool.run("fixtures.scenarios.stand_in_uneven:run", ranks, {})
    everything = [10.0 * rank + row for rank in range(ranks) for row in range(rank)]
    total = sum(range(1, ranks + 1))
    for rank, found in enumerate(rows):
        assert found["gathered"] == everything
        assert found["summed"] == [[total, total]] * rank
        assert found["received"] == [sender for sender in range(ranks) for _ in range(rank)]
