"""Activations are computed again with other dropout masks than in the forward pass."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, replace

FAULT = Fault(
    area="randomness",
    wrong="Activations are computed again with other dropout masks than in the forward pass.",
    on=On("tp2dp2"),
    caught_by=("recompute_repeats_dropout",),
    says=("random states",),
    kind="randomness",
    options={"check": "recompute"},
)


def plant(ctx):
    """See the first line."""

    return replace("megatron.core.tensor_parallel.random:_set_all_rng_states", does_nothing)
