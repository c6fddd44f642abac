"""Our rank groups are the stack's own: its generator, in a rank's process, is asked for the same layouts."""

import pytest

from fixtures.layout import Layout, enumerate_layouts
from suites.selftest.layout_strategies import random_layouts

pytestmark = pytest.mark.selftest

EXPERTS_ON_16 = ["tp2pp2cp2dp2ep4etp1", "dp16ep8", "tp4dp4ep4", "pp2cp4dp2ep8", "tp2cp4dp2ep2etp4", "tp16ep16etp1"]


@pytest.fixture(scope="module")
def stack_groups(gang_pool):
    """The stack's groups of all these layouts, {layout: {axis: groups}}, from one question."""
    layouts = [*enumerate_layouts(16), *random_layouts(40, seed=20260101)]
    names = list(dict.fromkeys([str(layout) for layout in layouts] + EXPERTS_ON_16))
    found = gang_pool.run("fixtures.scenarios.rank_groups:run", 1, {"layouts": names})[0]
    assert list(found) == names
    return found


def test_groups_equal_the_stacks_in_order_of_ranks_and_of_groups(stack_groups):
    wrong = []
    for name, theirs in stack_groups.items():
        ours = Layout.parse(name).rank_groups()
        assert ours.keys() == theirs.keys(), name
        wrong += [
            f"{name}, {axis}: the stack has {theirs[axis]}, we have {ours[axis]}" for axis in ours if ours[axis] != theirs[axis]
        ]
    assert wrong == []
