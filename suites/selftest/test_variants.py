"""Ways to run experts and latent attention: for whom they mean something, what is refused with advice, what is skipped."""

from __future__ import annotations

import pytest

from fixtures import architectures
from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.plugin.libraries import missing
from fixtures.plugin.variants import Variant, refusals, variants, with_published_split

pytestmark = pytest.mark.selftest

QWEN, DEEPSEEK, LLAMA = (architectures.get(name) for name in ("qwen3-moe", "deepseek-v2-lite", "llama"))


class _Config:
    def __init__(self, **options: list[str]) -> None:
        self._options = {f"--{name.replace('_', '-')}": value for name, value in options.items()}

    def getoption(self, name: str) -> list[str] | None:
        return self._options.get(name)


def made(architecture, layout="dp2", **options):
    return variants(_Config(**options), architecture, Layout.parse(layout))


def test_a_dense_model_is_not_multiplied():
    options = {"moe_dispatcher": ["alltoall", "allgather"], "latent_projection": ["split", "duplicated"]}
    assert made(LLAMA, **options, moe_feature=["none", "capacity"], pipeline_form=["ends", "layout"]) == [Variant()]


def test_what_an_architecture_knows_is_combined():
    assert len(made(QWEN, moe_dispatcher=["alltoall", "allgather"], moe_feature=["none", "capacity"])) == 4
    assert made(QWEN, latent_projection=["duplicated"]) == [Variant()]
    assert made(DEEPSEEK, latent_projection=["duplicated"]) == [Variant(latent_projection="duplicated")]
    forms = made(DEEPSEEK, "pp2@14+13", pipeline_form=["ends", "accounted"])
    assert [variant.pipeline_form for variant in forms] == ["ends", "accounted"]


@pytest.mark.parametrize(
    ("architecture", "layout", "variant", "reason"),
    [
        (QWEN, "dp2pp2ep2", Variant(moe_feature="capacity"), None),
        (QWEN, "tp2", Variant(moe_feature="capacity"), "use a layout of dp, pp and ep"),
        (QWEN, "cp2", Variant(moe_feature="capacity"), "use a layout of dp, pp and ep"),
        (QWEN, "dp2", Variant(moe_feature="shared-overlap"), "use deepseek-v2-lite"),
        (DEEPSEEK, "dp2", Variant(moe_feature="shared-overlap"), None),
        (DEEPSEEK, "dp2", Variant("allgather", "shared-overlap"), "leave --moe-dispatcher out"),
    ],
)
def test_variants_that_can_not_be_compared_are_refused_with_advice(architecture, layout, variant, reason):
    said = list(refusals(Layout.parse(layout), architecture, variant, "gpt"))
    assert len(said) == (reason is not None)
    assert reason is None or said[0].endswith(reason)


def test_experts_and_latent_attention_are_built_of_gpt_layers():
    assert list(refusals(Layout.parse("dp2"), QWEN, Variant(), "hybrid")) != []
    assert list(refusals(Layout.parse("dp2"), LLAMA, Variant(), "hybrid")) == []


def test_published_split_only_where_none_is_named():
    assert str(with_published_split(Layout.parse("tp2pp2cp2dp2ep4"), DEEPSEEK)) == "tp2pp2@14+13cp2dp2ep4"
    for text in ("pp2@13+14", "pp3", "pp4", "dp2"):
        assert str(with_published_split(Layout.parse(text), DEEPSEEK)) == text
    assert str(with_published_split(Layout.parse("pp2"), QWEN)) == "pp2"


@pytest.mark.parametrize(
    ("changes", "versions", "reason"),
    [
        ({}, {}, None),
        ({"moe_dispatcher": "flex"}, {"torch": "2"}, "flex needs deep-ep, and the stack's environment has none"),
        ({"moe_dispatcher": "flex"}, {"deep-ep": "1"}, None),
        ({"moe_feature": "grouped-gemm"}, {}, "grouped-gemm needs transformer-engine or nv-grouped-gemm"),
        ({"moe_feature": "grouped-gemm"}, {"transformer-engine": "2"}, None),
    ],
)
def test_missing_libraries_are_named(changes, versions, reason):
    case = Case("megatron-core", "qwen3-moe", Layout.parse("dp2"), "float64", "adam", "gpt", 1, **changes)
    said = missing(case, versions)
    assert said is None if reason is None else reason in said


def test_ids_name_what_is_not_the_default():
    case = Case(
        "megatron-core", "deepseek-v2-lite", Layout.parse("pp2@14+13"), "float64", "adam", "gpt", 1,
        "real", "allgather", "capacity", "duplicated", "layout",
    )  # fmt: skip
    assert case.id == "deepseek-v2-lite-real-allgather-capacity-duplicated-layout-pp2@14+13-float64-adam"


@pytest.mark.parametrize(("name", "published"), [("deepseek-v2-lite", 15.7), ("qwen3-moe", 30.5)])
def test_the_real_scale_has_the_published_parameters(name, published):
    """In units of 1e9, as the two papers give them."""
    assert round(_parameters(architectures.get(name, "real")) / 1e9, 1) == published


def _parameters(model):
    """Return the number of parameters, norms left out."""
    h, e = model.hidden_size, model.experts
    if model.latent_attention is not None:
        a = model.latent_attention
        query = h * model.num_attention_heads * (a.qk_head_dim + a.qk_pos_emb_head_dim)
        down = h * (a.kv_lora_rank + a.qk_pos_emb_head_dim)
        up = a.kv_lora_rank * model.num_attention_heads * (a.qk_head_dim + a.v_head_dim)
        attention = query + down + up + model.num_attention_heads * a.v_head_dim * h
    else:
        attention = h * model.kv_channels * 2 * (model.num_attention_heads + model.num_query_groups)
    expert, shared = 3 * h * e.ffn_hidden_size, 3 * h * (e.shared_ffn_hidden_size or 0)
    layers = model.num_layers - e.first_dense
    dense = model.num_layers * attention + e.first_dense * 3 * h * model.ffn_hidden_size + 2 * h * model.vocab_size
    return dense + layers * (shared + h * e.count + e.count * expert)
