"""Uneven pipelines: which form tells a split, what we refuse with advice, and what the stack says without us."""

import pytest

from fixtures import architectures
from fixtures.case import Case
from fixtures.layout import Layout, pipeline_forms

pytestmark = pytest.mark.selftest


@pytest.mark.parametrize(
    ("split", "counted"),
    [
        ((14, 13), (False, True)),
        ((13, 14), (True, False)),
        ((1, 2, 2, 1), (True, True)),
        ((6, 7, 7, 7), (True, False)),
        ((4, 4), None),
        ((3, 1), None),
        ((2, 3, 1), None),
    ],
)
def test_embedding_and_loss_counted_as_layers(split, counted):
    assert pipeline_forms.accounted(split) == counted


def test_text_of_a_layout_is_the_stacks():
    assert pipeline_forms.as_text((14, 13)) == "Et*14|t*13L"
    assert pipeline_forms.as_text((6, 2), vpp=2) == "Et*3|t*1|t*3|t*1L"


@pytest.mark.parametrize(
    ("form", "split", "vpp", "reason"),
    [
        ("auto", (1, 3, 2, 2), None, None),
        ("layout", (1, 3, 2, 2), 2, None),
        ("ends", (1, 3, 3, 2), None, None),
        ("ends", (1, 3, 2, 2), None, "first and last stage do not tell 1+3+2+2; use --pipeline-form layout"),
        ("ends", (4, 2), 2, "first and last stage do not tell 4+2 with vpp; use --pipeline-form layout"),
        ("accounted", (3, 1), None, "3+1 is not even with embedding or loss counted as a layer; use --pipeline-form layout"),
        ("ends", None, None, None),
    ],
)
def test_forms_that_can_not_tell_a_split_are_refused_with_another(form, split, vpp, reason):
    assert pipeline_forms.why_not(form, split, vpp) == reason


def test_27_layers_bring_their_published_split_for_two_stages_and_none_for_four():
    architecture = architectures.get("deepseek-v2-lite")
    assert architecture.split_for(2) == (14, 13)
    assert architecture.split_for(4) is None
    assert architecture.split_for(3) is None  # 9 layers each
    assert architectures.get("llama").split_for(2) is None


def test_the_stack_refuses_27_layers_on_two_even_stages(gang_pool):
    case = Case("megatron-core", "deepseek-v2-lite", Layout.parse("pp2"), "float64", "adam", "gpt", 1)
    said = gang_pool.run("fixtures.scenarios.refusal:run", 2, {"case": case.to_json()})
    assert len(set(said)) == 1
    assert "ivisible by" in said[0], said[0]
    assert "pipeline" in said[0]


def test_the_stack_builds_27_layers_on_the_published_split(gang_pool):
    case = Case("megatron-core", "deepseek-v2-lite", Layout.parse("pp2@14+13"), "float64", "adam", "gpt", 1)
    assert gang_pool.run("fixtures.scenarios.refusal:run", 2, {"case": case.to_json()}) == ["", ""]
