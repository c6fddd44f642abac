"""The layout grammar, rank groups, enumeration and feasibility."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import architectures
from fixtures.layout import Layout, LayoutError, enumerate_layouts, expand

pytestmark = pytest.mark.selftest

degrees = st.sampled_from([1, 2, 3, 4, 8])


@st.composite
def layouts(draw):
    """Any valid layout, with experts, virtual stages and uneven pipelines."""
    tp, pp, cp, dp = (draw(degrees) for _ in range(4))
    etp = draw(st.sampled_from([None, 1]))
    inside = tp * cp * dp // (tp if etp is None else etp)
    ep = draw(st.sampled_from([d for d in range(1, inside + 1) if inside % d == 0]))
    split = draw(st.none() | st.lists(st.integers(1, 30), min_size=pp, max_size=pp).map(tuple)) if pp > 1 else None
    vpp = draw(st.sampled_from([None, 2, 3])) if pp > 1 and split is None else None
    zero = draw(st.none() | st.integers(0, 3))
    return Layout(tp, pp, cp, dp, ep, etp, vpp, split, draw(st.booleans()), zero)


@given(layouts(), st.randoms(use_true_random=False), st.sampled_from(["", "-"]))
def test_parse_and_format_round_trip_in_any_order(layout, rng, dash):
    text = str(layout)
    assert Layout.parse(text) == layout
    assert str(Layout.parse(text)) == text
    tokens = [f"{axis}{getattr(layout, axis)}" for axis in ("tp", "cp", "dp", "ep")]
    tokens.append(f"pp{layout.pp}" + (f"@{'+'.join(map(str, layout.pp_split))}" if layout.pp_split else ""))
    tokens += [f"{axis}{getattr(layout, axis)}" for axis in ("etp", "vpp", "zero") if getattr(layout, axis) is not None]
    tokens += ["nosp"] if layout.nosp else []
    rng.shuffle(tokens)
    assert Layout.parse(dash.join(tokens)) == layout


@given(st.text(alphabet="tpcdevzros0123456789@+- ", max_size=14) | st.text(max_size=10))
def test_any_text_is_a_layout_or_one_line_of_advice(text):
    try:
        layout = Layout.parse(text)
    except LayoutError as error:
        assert "\n" not in str(error).replace(text, "") and len(str(error)) > 10
    else:
        assert Layout.parse(str(layout)) == layout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tp0", "write tp1 or leave tp out"),
        ("tp2tp2", "names tp twice; write it once"),
        ("xp2", "no axis 'xp'; did you mean tp2?"),
        ("tp2pp", "the degree of pp is missing; write pp2"),
        ("", "write one such as tp2pp2cp2dp2"),
        ("vpp2", "write pp2vpp2"),
        ("pp2@14", "gives layers for 1 stages, not 2"),
        ("pp2@14+0", "a stage without layers"),
        ("pp2@14+13vpp2", "vpp does not go with an uneven pipeline"),
        ("tp2@1+1", "only pp takes layers"),
        ("dp4ep8", "does not divide the 4 ranks of a pipeline stage; write ep4etp1"),
        ("zero4", "write zero3"),
        ("tp2 pp2", "is not a layout at ' pp2'"),
        ("dp99999999", "a degree is 1 to 1000000"),
        ("tp\u0662", "the degree of tp is missing"),
    ],
)
def test_bad_layouts_say_what_to_write(text, message):
    with pytest.raises(LayoutError, match=r".*") as error:
        Layout.parse(text)
    assert message in str(error.value)


def test_equal_meanings_are_equal_layouts():
    assert Layout.parse("tp2etp2dp2ep2") == Layout.parse("ep2-dp2-tp2")
    assert Layout.parse("pp2vpp1") == Layout.parse("pp2tp1")
    assert Layout.parse("dp4nosp") == Layout.parse("DP4")
    assert str(Layout()) == "dp1"


@given(layouts())
def test_groups_of_each_axis_partition_the_world(layout):
    sizes = {
        "tp": layout.tp, "cp": layout.cp, "dp": layout.dp, "pp": layout.pp,
        "dp_cp": layout.dp * layout.cp, "tp_cp": layout.tp * layout.cp, "tp_pp": layout.tp * layout.pp,
        "etp": layout.expert_tp, "ep": layout.ep, "edp": layout.edp, "etp_ep": layout.expert_tp * layout.ep,
    }  # fmt: skip
    groups = layout.rank_groups()
    for axis, size in sizes.items():
        assert all(len(group) == size for group in groups[axis]), axis
        assert sorted(rank for group in groups[axis] for rank in group) == list(range(layout.world)), axis


@given(layouts())
def test_coordinates_agree_with_groups(layout):
    groups = layout.rank_groups()
    for rank in random.Random(layout.world).sample(range(layout.world), min(5, layout.world)):
        for axis, index in layout.coordinates(rank).items():
            group = next(group for group in groups[axis] if rank in group)
            assert group[index] == rank


def test_a_known_layout_has_the_known_groups():
    groups = Layout.parse("tp2pp2cp2dp2ep4etp1").rank_groups()
    assert groups["tp"][:2] == [[0, 1], [2, 3]]
    assert groups["cp"][:2] == [[0, 2], [1, 3]]
    assert groups["dp"][:2] == [[0, 4], [1, 5]]
    assert groups["pp"][:2] == [[0, 8], [1, 9]]
    assert groups["ep"][:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups["edp"][:2] == [[0, 4], [1, 5]]
    assert groups["embedding"][0] == [0, 8]


@pytest.mark.parametrize(("world", "count"), [(1, 1), (2, 4), (16, 35), (64, 84)])
def test_enumeration_is_complete(world, count):
    found = enumerate_layouts(world)
    assert len(found) == len(set(found)) == count
    assert all(layout.world == world for layout in found)


def test_a_cluster_of_131072_ranks_is_planned_at_once():
    layout = Layout.parse("tp8pp16cp2dp512")
    groups = layout.rank_groups()
    assert layout.world == 131072 and len(groups["dp"]) == 256
    assert layout.coordinates(131071) | {"ep": 0, "etp": 7, "edp": 1023} == layout.coordinates(131071)


def test_sets_and_files(tmp_path):
    assert len(expand("all16")) == 35
    smoke = expand("smoke")
    assert {axis for layout in smoke for axis in ("tp", "pp", "cp", "dp") if getattr(layout, axis) > 1} == {"tp", "pp", "cp", "dp"}
    assert any(layout.vpp for layout in smoke) and all(layout.world == 16 for layout in smoke)
    file = tmp_path / "layouts"
    file.write_text("tp2dp2  # small\n\n# comment\npp4\n")
    assert expand(str(file)) == [Layout.parse("tp2dp2"), Layout.parse("pp4")]
    file.write_text("tp2\nxp2\n")
    with pytest.raises(LayoutError, match="line 2: xp2: no axis"):
        expand(str(file))
    file.write_text("# nothing\n")
    with pytest.raises(LayoutError, match="has no layout"):
        expand(str(file))
    with pytest.raises(LayoutError, match="no file"):
        expand("missing/layouts.txt")


DEEPSEEK = SimpleNamespace(num_layers=27, num_attention_heads=16, seq_length=48, num_experts=64, moe_ffn_hidden_size=24)


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("pp2", "pp=2 does not divide 27 layers; use pp2@14+13"),
        ("pp2@14+14", "has 28 layers, the model 27; use pp2@14+13"),
        ("pp3vpp2", "vpp=2 does not divide the 9 layers of a stage; use vpp1"),
        ("tp5", "tp=5 does not divide 16 attention heads; use tp4"),
        ("cp5", "2*cp=10 chunks, which does not divide 48 tokens; use cp4 or a sequence of 50"),
        ("tp16cp2", "cuts 24 tokens in tp=16 parts"),
        ("dp3ep3", "ep=3 does not divide 64 experts; use ep2"),
        ("tp16nosp", "expert tensor parallelism 16 does not divide 24 expert columns; use etp1"),
    ],
)
def test_reasons_against_an_architecture(layout, reason):
    assert any(reason in said for said in Layout.parse(layout).why_not(DEEPSEEK))


def test_all_reasons_are_given_at_once():
    assert len(Layout.parse("tp5pp2cp5").why_not(DEEPSEEK)) >= 3
    assert "no experts" not in str(Layout.parse("dp2ep2").why_not(DEEPSEEK))
    assert Layout.parse("dp2ep2").why_not(architectures.get("llama")) == [
        "ep=2 needs experts, and the model has none; leave ep out"
    ]
    assert "needs 4 ranks and 2 are available" in Layout.parse("dp4").why_not(DEEPSEEK, available_ranks=2)[0]


@settings(max_examples=300)
@given(layouts(), st.sampled_from([4, 6, 16, 27]), st.sampled_from([4, 8, 12]), st.sampled_from([16, 48]))
def test_why_not_is_empty_exactly_when_all_divides(layout, layers, heads, length):
    model = SimpleNamespace(num_layers=layers, num_attention_heads=heads, seq_length=length, num_experts=None)
    stages = layout.pp * (layout.vpp or 1)
    possible = (
        (sum(layout.pp_split) == layers if layout.pp_split else layers % stages == 0)
        and heads % layout.tp == 0
        and (layout.cp == 1 or length % (2 * layout.cp) == 0)
        and (layout.nosp or length % (layout.cp * layout.tp) == 0 or layout.tp == 1)
        and layout.ep == 1
        and layout.etp is None
    )
    assert (layout.why_not(model) == []) == possible


@pytest.mark.parametrize("name", architectures.names())
def test_every_factorisation_of_sixteen_can_run_our_dense_models(name):
    assert [layout for layout in enumerate_layouts(16) if layout.why_not(architectures.get(name))] == []


@given(st.integers(1, 200))
def test_enumeration_counts_follow_the_prime_factors(world):
    rest, count, prime = world, 1, 2
    while rest > 1:
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        count *= math.comb(power + 3, 3)
        prime += 1
    assert len(enumerate_layouts(world)) == count
