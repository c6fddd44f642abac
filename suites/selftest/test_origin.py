"""From what ranks say of their modules to the place where a difference begins."""

import numpy as np
import pytest

from fixtures.oracle import narrow
from fixtures.oracle.origin import common, origin_of
from fixtures.oracle.places import Place, assembled, incomplete

_LAYER = "decoder.layers.0"
ORDER = ["embedding", f"{_LAYER}.norm", f"{_LAYER}.attn.qkv", f"{_LAYER}.attn.core", f"{_LAYER}.mlp"]


def _rank(forward_wrong=(), backward_wrong=(), absent=(), skipped=()):
    def of(wrong):
        return {"wrong": list(wrong), "right": [name for name in ORDER if name not in {*wrong, *absent, *skipped}]}

    return {"forward": of(forward_wrong), "backward": {**of(backward_wrong), "absent": list(absent)}}


def test_no_difference_has_no_origin():
    origin = origin_of(ORDER, [_rank(), _rank()])
    assert (origin.module, origin.ranks) == (None, ())
    assert "right in all 5 modules" in origin.sentence


def test_the_first_wrong_output_is_named_with_its_ranks():
    ranks = [_rank(), _rank(forward_wrong=["decoder.layers.0.mlp", "decoder.layers.0.attn.core"])]
    origin = origin_of(ORDER, ranks)
    assert (origin.module, origin.direction, origin.ranks) == ("decoder.layers.0.attn.core", "forward", (1,))


def test_what_was_not_compared_is_suspected_too():
    origin = origin_of(ORDER, [_rank(forward_wrong=["decoder.layers.0.attn.core"], skipped=["decoder.layers.0.attn.qkv"])])
    assert origin.module == "decoder.layers.0.attn"


def test_a_wrong_gradient_is_the_next_modules():
    origin = origin_of(ORDER, [_rank(backward_wrong=["embedding", "decoder.layers.0.norm"])])
    assert (origin.module, origin.direction) == ("decoder.layers.0.attn.qkv", "backward")


def test_a_wrong_gradient_is_of_the_module_next_to_it_where_names_share_nothing():
    ranks = [_rank(backward_wrong=ORDER[:2], skipped=ORDER[2:])]
    assert origin_of([*ORDER[:4], "output_layer"], ranks).module == "decoder.layers.0.attn.qkv"


def test_a_module_that_contains_the_first_wrong_one_is_no_suspect():
    order = ["decoder.final_layernorm", "decoder", "output_layer", "loss"]
    rank = {
        "forward": {"wrong": [], "right": order},
        "backward": {"wrong": ["decoder.final_layernorm"], "right": ["loss"]},
    }
    assert origin_of(order, [rank]).module == "output_layer"


def test_a_mixture_of_experts_is_named_as_a_whole():
    order = ["norm", "mlp.shared_experts.linear_fc1", "mlp.shared_experts", "mlp.router", "mlp"]
    rank = {"forward": {"wrong": [], "right": order}, "backward": {"wrong": ["norm"], "right": order[1:]}}
    assert origin_of(order, [rank]).module == "mlp"


def test_a_gradient_that_never_comes_names_the_module_that_gets_none():
    origin = origin_of(ORDER, [_rank(backward_wrong=["embedding"], absent=["decoder.layers.0.attn.core"])])
    assert origin.module == "decoder.layers.0.attn.core"
    assert "never comes" in origin.sentence


def test_a_wrong_output_comes_before_wrong_gradients():
    origin = origin_of(ORDER, [_rank(forward_wrong=["decoder.layers.0.mlp"], backward_wrong=["embedding"])])
    assert (origin.module, origin.direction) == ("decoder.layers.0.mlp", "forward")


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        (["decoder.layers.0.attn.qkv", "decoder.layers.0.attn.core"], "decoder.layers.0.attn"),
        (["decoder.layers.0.attn", "decoder.layers.1.attn"], None),
        (["decoder.layers.10.mlp", "decoder.layers.1.mlp"], None),
        (["output_layer"], "output_layer"),
        (["embedding", "loss"], None),
    ],
)
def test_names_share_whole_parts(names, shared):
    assert common(names) == shared


def test_expert_data_parallelism_is_what_both_axes_have_together():
    assert narrow.blamed({"dp": False, "ep": False}) == ("edp",)
    assert narrow.blamed({"dp": False, "tp": False}) == ()
    assert narrow.blamed({"dp": True, "ep": False}) == ("dp",)


def test_a_gradient_that_came_in_some_microbatches_only_is_incomplete():
    some, none = np.ones(3), np.empty(0)
    assert incomplete([some, some], [some])
    assert incomplete([some, some], [none, some])
    assert not incomplete([some, some], [some, some])
    assert not incomplete([some, some], [])  # none at all: the module is named as such


def test_outputs_are_put_by_sample_and_position():
    place = Place(samples=((3, 1),), positions=(0, 1, 6, 7), tp=2, tp_rank=1)
    whole = np.arange(4 * 2 * 5.0).reshape(4, 2, 5)  # [sequence, batch, features]
    made, positions = assembled([whole], place, "decoder")
    assert positions == (0, 1, 6, 7)
    assert (made[0, 2] == whole[2, 0]).all()
    made, positions = assembled([whole[:2]], place, "decoder")
    assert positions == (6, 7)
    assert assembled([whole[:3]], place, "decoder") is None
    assert assembled([whole, whole], place, "decoder") is None
