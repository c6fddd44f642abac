"""What a rank holds after many cases: no more than after a few."""

import pytest

from fixtures.case import Case
from fixtures.layout import Layout

pytestmark = pytest.mark.selftest


def test_twenty_cases_leave_a_gang_as_it_was(gang_pool):
    case = Case("megatron-core", "llama", Layout.parse("tp2"), "float64", "distributed-overlap", "gpt", 1)
    usage = []
    for _ in range(20):
        gang_pool.run("fixtures.scenarios.bare:run", 2, {"case": case.to_json()})
        usage.append(gang_pool.last_usage[0])
    assert {row["process_groups"] for row in usage} == {1}
    assert len({row["threads"] for row in usage}) == 1
    if "fds" in usage[0]:
        assert usage[-1]["fds"] <= usage[4]["fds"]
        # The allocator's arenas settle in the first cases. A model of this case with its optimizer is about 5 MiB a rank: had
        # each of the last fifteen cases left one behind, the rank would have grown by 75.
        assert usage[-1]["rss_mib"] - usage[4]["rss_mib"] < 20
