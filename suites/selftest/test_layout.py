"""The text form of layouts: what it means, what it equals, and what is said about bad text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fixtures.layout import LARGEST, Layout, LayoutError
from suites.selftest.layout_strategies import layouts

pytestmark = pytest.mark.selftest


@settings(deadline=None)
@given(layouts(), st.randoms(use_true_random=False))
def test_parse_and_format_round_trip_in_any_order_with_and_without_dashes(layout, rng):
    canonical = str(layout)
    assert Layout.parse(canonical) == layout
    assert str(Layout.parse(canonical)) == canonical
    split = f"@{'+'.join(map(str, layout.pp_split))}" if layout.pp_split else ""
    tokens = [f"{axis}{getattr(layout, axis)}" for axis in ("tp", "cp", "dp", "ep")] + [f"pp{layout.pp}{split}"]
    tokens += [f"{axis}{getattr(layout, axis)}" for axis in ("etp", "vpp", "zero") if getattr(layout, axis) is not None]
    tokens += ["nosp"] if layout.nosp else []
    rng.shuffle(tokens)
    text = tokens[0] + "".join(rng.choice(["", "-"]) + token for token in tokens[1:])
    assert Layout.parse(text) == layout
    assert Layout.parse(f" {text.upper()}\n") == layout


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("dp2cp2pp2tp2", "tp2pp2cp2dp2"),
        ("ep4-dp8-tp2", "tp2dp8ep4"),
        ("zero3dp16", "dp16zero3"),
        ("nosptp2", "tp2nosp"),
        ("vpp2pp2@14+12", "pp2@14+12vpp2"),
        ("etp1tp2dp2", "tp2dp2etp1"),
        ("tp02pp1", "tp2"),
        ("tp1", "dp1"),
        ("zero1", "dp1zero1"),
    ],
)
def test_canonical_form(text, canonical):
    assert str(Layout.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("tp2etp2dp2ep2", "ep2-dp2-tp2"),
        ("pp2vpp1", "pp2tp1"),
        ("dp4nosp", "DP4"),
        ("dp2zero0", "dp2"),
        ("dp1", "tp1pp1"),
    ],
)
def test_layouts_of_equal_meaning_are_equal(text, same):
    assert Layout.parse(text) == Layout.parse(same)
    assert hash(Layout.parse(text)) == hash(Layout.parse(same))
    assert str(Layout.parse(text)) == str(Layout.parse(same))


def test_what_follows_from_the_degrees():
    layout = Layout.parse("tp2pp2cp2dp2ep4etp1")
    assert (layout.world, layout.expert_tp, layout.edp, layout.sequence_parallel) == (16, 1, 2, True)
    assert Layout.parse("tp4").expert_tp == 4
    assert not Layout.parse("tp4nosp").sequence_parallel
    assert not Layout.parse("dp4").sequence_parallel
    assert Layout(pp=2, pp_split=[3, 5]).pp_split == (3, 5)  # a list, as from JSON, must not make it unhashable


@settings(deadline=None)
@given(
    st.text()
    | st.text(alphabet="tpcdevzrons0123456789@+- ")
    | st.lists(
        st.sampled_from(["tp", "pp", "cp", "dp", "ep", "etp", "vpp", "zero", "nosp", "@", "+", "-", "0", "1", "2", "14"])
    ).map("".join)
)
@example("tp" + "9" * 5000)
@example("pp2@" + "9" * 5000)
@example("tp2\u2028dp2")
def test_any_text_is_a_layout_or_one_line_of_advice(text):
    try:
        layout = Layout.parse(text)
    except LayoutError as error:
        said = str(error)
        assert said.splitlines() == [said]
        assert 10 < len(said) < 300
        assert any(word in said for word in ("write", "leave", "axes are"))
    else:
        assert Layout.parse(str(layout)) == layout


BAD = [
    ("tp0", "tp0: a degree is 1 or more; write tp1, or leave tp out"),
    ("tp2tp2", "tp is there twice; write it once"),
    ("tp2nospnosp", "nosp is there twice"),
    ("xp2", "'xp2': no such axis; did you mean tp2, pp2, cp2, dp2 or ep2?"),
    ("zeor3", "did you mean zero3?"),
    ("pipeline2", "did you mean pp2?"),
    ("sp2", "write nosp to turn it off"),
    ("edp2", "edp follows from the other axes"),
    ("tp2pp", "the degree of pp is missing; write pp2"),
    ("tp2ppdp2", "the degree of pp is missing"),
    ("", "write one such as tp2pp2cp2dp2"),
    ("  ", "write one such as tp2pp2cp2dp2"),
    ("2", "is not a layout at '2'; write axis and degree"),
    ("nosp1", "nosp takes no number; write nosp"),
    ("vpp2", "there is no pipeline; write pp2vpp2, or leave vpp out"),
    ("pp2@14", "has layers for 1 stage, and pp is 2; write 2 numbers, as in pp2@14+13"),
    ("pp3@1+2", "write pp2@1+2, or 3 numbers"),
    ("pp2@14+0", "write from 1 to"),
    ("pp1@27", "all layers are on the only stage; leave @27 out"),
    ("pp2@", "write pp2@14+13, for example"),
    ("pp2@14,13", "write pp2@14+13"),
    ("pp3@7/7/8dp2", "write pp3@7+7+8"),
    ("tp2@1+1", "only pp takes layers of stages"),
    ("dp4ep8", "does not divide the tp*cp*dp=4 ranks of a pipeline stage; write ep4"),
    ("tp2dp4ep8", "write ep4 or write ep8etp1"),
    ("tp4etp3", "write etp1"),
    ("tp2dp2ep3", "leave ep and etp out"),
    ("zero4", "ZeRO has stages 0 to 3; write zero3"),
    ("dp9999999", f"too large; write a degree of at most {LARGEST}"),
    ("dp" + "9" * 5000, f"dp999999999...: too large; write a degree of at most {LARGEST}"),
    ("tp1024dp1025", f"product is at most {LARGEST}"),
    # One that is a layout but for its separators or digits is written out right.
    ("tp-2", "is not written as a layout; write tp2"),
    ("tp2-", "write tp2"),
    ("-tp2", "write tp2"),
    ("tp2--pp2", "write tp2pp2"),
    ("tp2 pp2", "write tp2pp2"),
    ("tp=2, pp=2", "write tp2pp2"),
    ("tp\u0662", "write tp2"),
    ("\uff54\uff50\uff12", "write tp2"),
    # But never where that could join two numbers to another one.
    ("tp1 6", "is not a layout at ' 6'"),
    ("tp2.5", "is not a layout at '.5'"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text[:12] or "empty" for text, _ in BAD])
def test_bad_layouts_say_what_to_write(text, message):
    with pytest.raises(LayoutError) as error:
        Layout.parse(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("vpp2", "pp2vpp2"),
        ("tp-2", "tp2"),
        ("pp3@7/7/8", "pp3@7+7+8"),
        ("dp4ep8", "dp4ep4"),
        ("tp2dp4ep8", "tp2dp4ep8etp1"),
    ],
)
def test_what_we_say_to_write_can_be_read(text, advice):
    with pytest.raises(LayoutError):
        Layout.parse(text)
    assert Layout.parse(advice)


@pytest.mark.parametrize("fields", [{"tp": "2"}, {"dp": 2.0}, {"pp": None}, {"tp": True}, {"zero": "3"}])
def test_fields_of_a_wrong_type_are_refused_in_words(fields):
    with pytest.raises(LayoutError, match=r"; write "):
        Layout(**fields)


def test_what_is_no_text_is_refused_in_words():
    with pytest.raises(LayoutError, match="a layout is text, not int"):
        Layout.parse(2)  # type: ignore[arg-type]
