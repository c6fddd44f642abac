"""What a rank holds after many cases: no more than after a few."""

import pytest

from fixtures.case import Case
from fixtures.layout import Layout

pytestmark = pytest.mark.selftest


def test_twenty_cases_leave_a_gang_as_it_was(gang_pool):
    case = Case("megatron-core", "llama", Layout.parse("tp2"), "float64", "distributed-overlap", "gpt", 1)
    usage, alive = [], []
    for _ in range(20):
        gang_pool.run("fixtures.scenarios.bare:run", 2, {"case": case.to_json()})
        usage.append(gang_pool.last_usage[0])
        alive.append(gang_pool.run("fixtures.scenarios.probe:tensors_alive", 2, {})[0])
    assert {row["process_groups"] for row in usage} == {1}
    assert len({row["threads"] for row in usage}) == 1
    if "fds" in usage[0]:
        assert usage[-1]["fds"] <= usage[4]["fds"]
    # Not the resident set: kernels give memory back and take it again. A model of this case is 0.7 MiB of parameters a rank.
    assert alive[-1] == alive[4]
    assert alive[-1] < 2**20
