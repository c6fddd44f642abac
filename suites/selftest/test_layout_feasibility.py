"""Why a layout can't run an architecture: all reasons, none too many, and advice that helps."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fixtures import architectures
from fixtures.layout import Layout, LayoutError
from suites.selftest.layout_strategies import layouts

pytestmark = pytest.mark.selftest

DEEPSEEK = SimpleNamespace(
    num_layers=27, num_attention_heads=16, seq_length=48, num_experts=64, moe_ffn_hidden_size=24, ffn_hidden_size=96
)
CUT_BY_TP = ("num_attention_heads", "vocab_size", "ffn_hidden_size", "mamba_num_heads", "mamba_num_groups")
MAMBA = SimpleNamespace(num_layers=8, seq_length=64, mamba_num_heads=16, mamba_num_groups=4)


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("pp2", "pp=2 does not divide 27 layers; use pp2@14+13"),
        ("pp4", "pp=4 does not divide 27 layers; use pp4@7+7+7+6"),
        ("pp4vpp3", "pp=4 does not divide 27 layers; use pp4@9+6+6+6"),
        ("pp2vpp2", "use pp2@14+13 without vpp"),
        ("pp32", "pp=32 has more stages than the model has layers, 27; use pp27"),
        ("pp2@14+14", "pp2@14+14 has 28 layers and the model 27; use pp2@14+13"),
        ("pp3vpp2", "vpp=2 does not divide the 9 layers of a stage; leave vpp out"),
        ("pp2@15+12vpp2", "vpp=2 does not divide the layers of each stage of pp2@15+12; leave vpp out"),
        ("tp5", "tp=5 does not divide 16 attention heads; use tp4"),
        ("cp5", "2*cp=10 chunks, which does not divide 48 tokens; use cp4, or a sequence of 50 tokens"),
        ("tp16cp2", "tp=16 does not divide the 24 tokens of a cp rank, which sequence parallelism cuts; use tp8"),
        ("dp3ep3", "ep=3 does not divide 64 experts; leave ep out"),
        ("dp6ep6", "ep=6 does not divide 64 experts; use ep2"),
        ("tp16", "etp=16 does not divide 24 columns of an expert; use etp8"),
        ("tp2nosp", "experts with tp=2 need sequence parallelism; leave nosp out"),
    ],
)
def test_reasons_against_an_architecture_with_experts(layout, reason):
    assert any(reason in said for said in Layout.parse(layout).why_not(DEEPSEEK)), Layout.parse(layout).why_not(DEEPSEEK)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("tp8", ["tp=8 does not divide 4 Mamba groups; use tp4"]),
        (
            "tp3",
            ["tp=3 does not divide 16 Mamba heads; use tp2", "tp=3 does not divide 4 Mamba groups; use tp2"],
        ),
        ("tp4cp8", ["cp=8 does not divide the 4 Mamba heads of a tp rank; use cp4"]),
        ("cp16", []),
    ],
)
def test_reasons_against_mamba(layout, said):
    mamba = SimpleNamespace(**{**vars(MAMBA), "seq_length": 96})
    assert [reason for reason in Layout.parse(layout).why_not(mamba) if "Mamba" in reason] == said


@pytest.mark.parametrize(
    ("layout", "fields", "said"),
    [
        ("dp2", {"seq_length": 15}, []),
        (
            "cp8",
            {"seq_length": 24},
            ["cp=8 cuts the sequence in 2*cp=16 chunks, which does not divide 24 tokens; use cp6, or a sequence of 32 tokens"],
        ),
        # cp4 would cut the sequence, but leave 12 tokens to be cut in 8 parts.
        (
            "tp8cp5",
            {"seq_length": 48},
            ["cp=5 cuts the sequence in 2*cp=10 chunks, which does not divide 48 tokens; use cp3, or a sequence of 80 tokens"],
        ),
        (
            "cp3",
            {"mamba_num_heads": 12, "mamba_num_groups": 4},
            ["cp=3 neither divides the 4 Mamba groups of a tp rank nor is a multiple; use cp2"],
        ),
        ("cp4", {"mamba_num_heads": 12, "mamba_num_groups": 2}, []),
        # Without a width of their own, experts are as wide as a dense layer.
        (
            "etp4dp4",
            {"num_experts": 8, "ffn_hidden_size": 6},
            ["etp=4 does not divide 6 columns of an expert; use etp2"],
        ),
        ("etp4dp4", {"num_experts": 8, "ffn_hidden_size": 6, "moe_ffn_hidden_size": 8}, []),
        (
            "pp2@14+13vpp2",
            {"num_layers": 27},
            ["vpp=2 does not divide the layers of each stage of pp2@14+13; leave vpp out"],
        ),
        ("pp2@14+12vpp2", {"num_layers": 26}, []),
    ],
)
def test_one_rule_at_a_time(layout, fields, said):
    assert Layout.parse(layout).why_not(SimpleNamespace(**fields)) == said


def test_all_reasons_are_given_at_once():
    said = Layout.parse("tp5pp2cp5").why_not(DEEPSEEK, available_ranks=8)
    for subject in ("50 ranks", "27 layers", "attention heads", "feed-forward", "48 tokens", "columns of an expert"):
        assert any(subject in reason for reason in said), (subject, said)


def test_a_dense_model_has_no_expert_parallelism():
    llama = architectures.get("llama")
    assert Layout.parse("dp2ep2").why_not(llama) == ["ep=2 needs experts, and the model has none; leave ep out"]
    assert Layout.parse("tp2etp1").why_not(llama) == ["etp=1 needs experts, and the model has none; leave etp out"]
    assert Layout.parse("tp2dp2ep2etp1").why_not(llama) == [
        "ep=2 and etp=1 need experts, and the model has none; leave ep and etp out"
    ]
    assert Layout.parse("tp2nosp").why_not(llama) == []


def test_only_sequence_parallelism_cuts_the_sequence_by_tp():
    model = SimpleNamespace(seq_length=16)
    assert Layout.parse("tp3nosp").why_not(model) == []
    said = Layout.parse("tp3").why_not(model)
    assert len(said) == 1
    assert said[0].endswith("which sequence parallelism cuts; use tp2, or nosp")


def test_experts_with_biases_can_not_be_split():
    biased = SimpleNamespace(num_experts=8, biases=True)
    assert Layout.parse("tp2").why_not(biased) == ["experts with biases can't be split, and etp is 2; use etp1"]
    assert Layout.parse("tp2etp1").why_not(biased) == []


@pytest.mark.parametrize(("groups", "fits"), [(1, True), (2, True), (3, False), (4, True), (8, True), (12, True)])
def test_ranks_may_share_query_groups(groups, fits):
    # As megatron-core 0.16.1 and 0.19.2: one must be a multiple of the other.
    model = SimpleNamespace(num_attention_heads=24, num_query_groups=groups)
    assert (Layout.parse("tp4").why_not(model) == []) == fits


@pytest.mark.parametrize(
    ("layout", "available", "advice"),
    [
        ("tp2pp2cp2dp2", 16, None),
        ("tp2pp2cp2dp4", 16, "it needs 32 ranks and 16 are available; use tp2pp2cp2dp2, or more ranks"),
        ("tp2dp8ep8", 8, "use smaller degrees, or more ranks"),
        ("tp2dp8ep4", 8, "use tp2dp4ep4, or more ranks"),
        ("tp16", 8, "use smaller degrees, or more ranks"),
        ("dp2", 0, "use smaller degrees, or more ranks"),
    ],
)
def test_ranks_that_are_not_there(layout, available, advice):
    said = Layout.parse(layout).why_not(SimpleNamespace(num_experts=8), available_ranks=available)
    assert (said == []) if advice is None else (len(said) == 1 and advice in said[0])


@st.composite
def models(draw):
    """Architectures with small counts that layouts sometimes divide; any field may be unknown."""
    heads = draw(st.sampled_from([4, 8, 12, 24]))
    fields = {
        "num_layers": draw(st.sampled_from([4, 6, 12, 16, 26, 27])),
        "num_attention_heads": heads,
        "num_query_groups": draw(st.sampled_from([1, 2, 3, heads])),
        "vocab_size": draw(st.sampled_from([96, 100])),
        "ffn_hidden_size": draw(st.sampled_from([48, 96])),
        "seq_length": draw(st.sampled_from([15, 16, 24, 40, 48])),
        "num_experts": draw(st.sampled_from([None, 8, 12])),
        "moe_ffn_hidden_size": draw(st.sampled_from([None, 24])),
        "mamba_num_heads": draw(st.sampled_from([None, 24])),
        "mamba_num_groups": draw(st.sampled_from([None, 1, 4, 8])),
        "biases": draw(st.booleans()),
    }
    # Often only a few fields are known, so that a single rule decides.
    unknown = draw(st.sets(st.sampled_from(sorted(fields))))
    return SimpleNamespace(**{name: value for name, value in fields.items() if name not in unknown})


def feasible(layout: Layout, model: SimpleNamespace) -> bool:
    """The rules once more, written straight from the assertions in the stack."""

    def known(name: str) -> Any:
        return getattr(model, name, None)

    tp, cp, etp, vpp = layout.tp, layout.cp, layout.etp or layout.tp, layout.vpp or 1
    rules = [known(name) % tp == 0 for name in CUT_BY_TP if known(name) is not None]
    if layers := known("num_layers"):
        stages = layout.pp_split or (layers / layout.pp,) * layout.pp
        rules += [sum(stages) == layers, *(count % vpp == 0 and count >= 1 for count in stages)]
    if groups := known("num_query_groups"):
        rules += [0 in (groups % tp, tp % groups)]
    if length := known("seq_length"):
        rules += [length % (2 * cp if cp > 1 else 1) == 0, layout.nosp or (length / cp) % tp == 0]
    # What does not fit tp is refused already; cp then has nothing to divide.
    if (heads := known("mamba_num_heads")) and heads % tp == 0:
        rules += [heads % (tp * cp) == 0]
    if (groups := known("mamba_num_groups")) and groups % tp == 0:
        rules += [0 in ((groups // tp) % cp, cp % (groups // tp))]
    if experts := known("num_experts"):
        width = known("moe_ffn_hidden_size") or known("ffn_hidden_size")
        rules += [experts % layout.ep == 0, width is None or width % etp == 0]
        rules += [not known("biases") or etp == 1, not layout.nosp]
    else:
        rules += [layout.ep == 1, layout.etp is None]
    return all(rules)


@settings(max_examples=500, deadline=None)
@given(layouts(), models())
def test_there_is_no_reason_exactly_when_the_stacks_rules_hold(layout, model):
    said = layout.why_not(model)
    assert (said == []) == feasible(layout, model), said
    assert len(set(said)) == len(said)
    for reason in said:
        assert reason.splitlines() == [reason]
        assert re.search(r"; (use|leave) ", reason)


@settings(max_examples=300, deadline=None)
@given(layouts(), models(), st.data())
def test_who_follows_the_advice_is_not_told_the_same_again(layout, model, data):
    said = layout.why_not(model)
    assume(said)
    reason = data.draw(st.sampled_from(said))
    advice = reason.split("; ")[-1]
    if found := re.search(r"leave (\w+)( and etp)? out", advice):
        axis = found[1]
        change = {axis: {"nosp": False, "etp": None, "vpp": None}.get(axis, 1)} | ({"etp": None} if found[2] else {})
        # Without a pipeline there is nothing to cut in virtual stages.
        change |= {"pp_split": None, "vpp": None} if axis == "pp" else {}
    else:
        found = re.match(r"use ([a-z]+)([0-9]+)(?:@([0-9+]+))?", advice)
        axis, degree, split = found.groups()
        change = {axis: int(degree)} | ({"pp_split": split and tuple(map(int, split.split("+")))} if axis == "pp" else {})
        change |= {"vpp": None} if "without vpp" in advice else {}
    try:
        better = dataclasses.replace(layout, **change)
    except LayoutError:
        # tp and cp also count the ranks that experts are spread over: another ep is then needed first.
        assert axis in ("tp", "cp")
        return

    def subject(text: str) -> str:
        return re.sub(r"[0-9+@]+", "#", text.split("; ")[0])

    assert subject(reason) not in {subject(text) for text in better.why_not(model)}, (str(layout), str(better), reason)
