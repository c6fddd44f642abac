"""A wrong gradient norm is explained by what it counts, if that gives its value."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle.diagnose import common_module
from fixtures.oracle.norm import miscounted

GRADIENTS = {
    "embedding.word_embeddings.weight": np.array([1.0, 2.0]),
    "decoder.layers.0.mlp.experts.linear_fc1.weight": np.array([3.0, 0.5]),
    "decoder.layers.1.mlp.experts.linear_fc1.weight": np.array([0.25, 0.7]),
    "decoder.layers.0.input_layernorm.weight": np.array([0.3, 0.9]),
    "decoder.layers.1.self_attention.linear_proj.weight": np.array([1.1, 0.4]),
}
ON_STAGE = {"embedding": (0, 1), "decoder.layers.0": (0,), "decoder.layers.1": (1,)}


def _square(*words):
    return sum(float((g * g).sum()) for key, g in GRADIENTS.items() if any(word in key for word in words))


def _evidence(layout):
    layout = Layout.parse(layout)
    rows = []
    for rank in range(layout.world):
        for key in GRADIENTS:
            stages = next(stages for start, stages in ON_STAGE.items() if key.startswith(start))
            if layout.coordinates(rank)["pp"] in stages or layout.pp == 1:
                shape = (2,) if "layernorm" in key else (2 // layout.tp,)
                rows.append(SimpleNamespace(key=key, rank=rank, shape=shape, global_shape=(2,)))
    norm = math.sqrt(_square(""))
    reference = SimpleNamespace(
        numbers={"grad_norms": [{"value": norm, "tolerance": 1e-9}]},
        keys=lambda: {key: [2] for key in GRADIENTS},
        shard=lambda _kind, key, _offset, _shape: GRADIENTS[key],
    )
    case = Case("megatron-core", "qwen3-moe", layout, "float64", "adam", "gpt", 1)
    return SimpleNamespace(case=case, reference=reference, rows=lambda _kind: rows)


@pytest.mark.parametrize(
    ("layout", "square", "sentence", "module", "axis"),
    [
        ("tp2dp2", -_square("experts"), "leaves out the routed experts", "decoder.layers.*.mlp.experts.linear_fc1", None),
        ("dp4ep2", _square("experts"), "counts the routed experts 2 times", "decoder.layers.*.mlp.experts.linear_fc1", "edp"),
        ("pp2", _square("embedding"), "counts what the first and the last stage share 2 times", "embedding.word_embeddings",
         "pp"),
        ("tp2", _square("layernorm"), "counts what every tensor parallel rank holds in whole 2 times",
         "decoder.layers.0.input_layernorm", "tp"),
        ("pp2", -_square("layers.1"), "leaves out stage 1 of the pipeline", "decoder.layers.1", "pp"),
    ],
)  # fmt: skip
def test_what_is_miscounted_is_named(layout, square, sentence, module, axis):
    count = miscounted(_evidence(layout), math.sqrt(_square("") + square))
    assert count is not None
    assert (count.sentence, count.axis) == (sentence, axis)
    assert count.module.startswith(module)


def test_a_norm_that_no_count_gives_is_not_explained():
    assert miscounted(_evidence("tp2pp2"), math.sqrt(_square("") * 1.01)) is None
    assert miscounted(_evidence("tp2pp2"), math.sqrt(_square(""))) is None


def test_a_common_module_has_stars_where_names_differ():
    assert common_module(["a.0.b.weight", "a.1.b.weight"]) == "a.*.b"
    assert common_module(["a.b.weight"]) == "a.b"
    assert common_module(["a.b.weight", "a.c.d.weight"]) == "a"
