"""A second run of a case that is right finds no place where it differs, in all kinds of layouts and architectures."""

import pytest

from fixtures.case import Case
from fixtures.layout import Layout

CASES = [
    ("llama", "tp2dp2", "float64"),
    ("llama", "pp2dp2", "float64"),
    ("llama", "tp2pp2vpp2", "float64"),
    ("llama", "tp2cp2", "float64"),
    ("llama", "tp2nosp", "float32"),
    ("llama", "cp2dp2", "bfloat16"),
    ("qwen3-moe", "tp2dp2ep2", "float64"),
    ("deepseek-v2-lite", "cp2dp2ep2", "float64"),
    ("nemotron-3-nano", "tp2cp2", "float64"),
]


@pytest.mark.parametrize(("architecture", "layout", "precision"), CASES, ids=lambda value: str(value))
def test_a_right_case_has_no_origin(origins, architecture, layout, precision):
    case = Case("megatron-core", architecture, Layout.parse(layout), precision, "adam", "gpt", seed=7)
    origin = origins.find(case)
    assert origin.module is None, origin.sentence
    assert "right in all" in origin.sentence
