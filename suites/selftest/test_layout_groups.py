"""Rank groups and coordinates. That they are the stack's own is test_layout_against_stack.py's."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings

from fixtures.layout import Layout, LayoutError
from suites.selftest.layout_strategies import layouts

pytestmark = pytest.mark.selftest


@settings(deadline=None)
@given(layouts())
def test_groups_of_each_axis_partition_the_world(layout):
    sizes = {
        "tp": layout.tp, "cp": layout.cp, "dp": layout.dp, "pp": layout.pp,
        "dp_cp": layout.dp * layout.cp, "tp_cp": layout.tp * layout.cp, "tp_pp": layout.tp * layout.pp,
        "etp": layout.expert_tp, "ep": layout.ep, "edp": layout.edp, "etp_ep": layout.expert_tp * layout.ep,
    }  # fmt: skip
    groups = layout.rank_groups()
    assert groups.keys() == sizes.keys() | {"embedding"}
    for axis, size in sizes.items():
        assert all(len(group) == size for group in groups[axis]), axis
        assert sorted(rank for group in groups[axis] for rank in group) == list(range(layout.world)), axis


@settings(deadline=None)
@given(layouts())
def test_degrees_multiply_to_the_world_in_both_readings(layout):
    assert layout.tp * layout.cp * layout.dp * layout.pp == layout.world
    assert layout.expert_tp * layout.ep * layout.edp * layout.pp == layout.world


@settings(deadline=None)
@given(layouts())
def test_coordinates_are_the_index_in_the_group_of_each_axis(layout):
    groups = layout.rank_groups()
    for rank in random.Random(layout.world).sample(range(layout.world), min(5, layout.world)):
        coordinates = layout.coordinates(rank)
        assert coordinates.keys() == {"tp", "cp", "dp", "pp", "etp", "ep", "edp"}
        for axis, index in coordinates.items():
            group = next(group for group in groups[axis] if rank in group)
            assert group.index(rank) == index, axis


@settings(deadline=None)
@given(layouts())
def test_ranks_of_a_group_agree_on_all_other_axes(layout):
    groups = layout.rank_groups()
    for axes, others in (("tp cp dp pp", {"tp", "cp", "dp", "pp"}), ("etp ep edp pp", {"etp", "ep", "edp", "pp"})):
        for axis in axes.split():
            for group in groups[axis][:3]:
                fixed = [{other: layout.coordinates(rank)[other] for other in others - {axis}} for rank in group]
                assert all(place == fixed[0] for place in fixed), axis


@settings(deadline=None)
@given(layouts())
def test_embedding_groups_are_the_ends_of_each_pipeline(layout):
    groups = layout.rank_groups()
    ends = [list(dict.fromkeys((stages[0], stages[-1]))) for stages in groups["pp"]]
    assert groups["embedding"] == ends


def test_a_known_layout_has_the_known_groups():
    groups = Layout.parse("tp2pp2cp2dp2ep4etp1").rank_groups()
    assert groups["tp"][:2] == [[0, 1], [2, 3]]
    assert groups["cp"][:2] == [[0, 2], [1, 3]]
    assert groups["dp"][:2] == [[0, 4], [1, 5]]
    assert groups["pp"][:2] == [[0, 8], [1, 9]]
    assert groups["dp_cp"][:2] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert groups["tp_pp"][:2] == [[0, 1, 8, 9], [2, 3, 10, 11]]
    assert groups["ep"][:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups["edp"][:2] == [[0, 4], [1, 5]]
    assert groups["embedding"][:2] == [[0, 8], [1, 9]]


def test_nobody_shares_a_list_with_us():
    groups = Layout.parse("pp1dp2").rank_groups()
    groups["pp"][0].append(99)
    assert groups["embedding"][0] == [0]


@pytest.mark.parametrize("rank", [-1, 16])
def test_a_rank_that_is_not_there_is_refused(rank):
    with pytest.raises(LayoutError, match=f"rank {rank} is not one of the 16 ranks of tp2pp2cp2dp2; use 0 to 15"):
        Layout.parse("tp2pp2cp2dp2").coordinates(rank)


def test_a_cluster_of_131072_ranks_is_planned_in_seconds():
    layout = Layout.parse("tp8pp16cp2dp512ep64etp1")
    started = time.monotonic()
    groups = layout.rank_groups()
    for rank in range(0, layout.world, 7):
        layout.coordinates(rank)
    # Measured 0.25 s on a small machine; quadratic work would take hours.
    assert time.monotonic() - started < 10
    assert layout.world == 131072
    assert len(groups["dp"]) == 256
    assert groups["pp"][0][1] == 8192
