"""What Meshgate says of a layout, against the stack itself; and what a gang holds after many cases."""

import random

import pytest

from fixtures.case import Case
from fixtures.layout import Layout, LayoutError, enumerate_layouts

pytestmark = pytest.mark.selftest


def _random_layouts(count, seed=20):
    rng = random.Random(seed)
    found = set()
    while len(found) < count:
        degrees = {axis: rng.choice([1, 1, 2, 3, 4]) for axis in ("tp", "pp", "cp", "dp")}
        try:
            found.add(Layout(**degrees, ep=rng.choice([1, 2, 3, 4, 6]), etp=rng.choice([None, 1, 2])))
        except LayoutError:
            continue
    return sorted(map(str, found))


def test_rank_groups_are_the_stacks(gang_pool):
    layouts = [*map(str, enumerate_layouts(16)), *_random_layouts(60)]
    groups = gang_pool.run("fixtures.scenarios.rank_groups:run", 1, {"layouts": layouts})[0]
    assert len(groups) == len(set(layouts)) > 80
    for text, axes in groups.items():
        ours = Layout.parse(text).rank_groups()
        for axis, theirs in axes.items():
            assert ours[axis] == theirs, (text, axis)


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
