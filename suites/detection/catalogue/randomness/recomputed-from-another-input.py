"""Activations are computed again from the input of other positions."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, tensors_in

FAULT = Fault(
    area="randomness",
    wrong="Activations are computed again from the input of other positions.",
    on=On("tp2dp2"),
    caught_by=("recompute_repeats_dropout",),
    says=("input",),
    kind="randomness",
    options={"check": "recompute"},
)


def plant(ctx):
    """See the first line."""

    def shifted(inputs, *_args):
        for tensor in tensors_in(list(inputs)):
            if tensor.dim() == 3 and tensor.requires_grad:
                tensor.data = tensor.data.roll(1, dims=0)
        return inputs

    return changed("megatron.core.tensor_parallel.random:detach_variable", shifted)
