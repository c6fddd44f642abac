"""The gradients of keys and values are not summed over context parallel ranks in the backward pass of attention."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, with_collective

FAULT = Fault(
    area="context parallel",
    wrong="The gradients of keys and values are not summed over context parallel ranks in the backward pass of attention.",
    on=On("tp2cp2"),
    caught_by=("gradients",),
    module="decoder.layers.7.self_attention*",
    axis="cp",
    reference="TTrace, arXiv 2506.09280: wrong gradients of attention under context parallelism",
)


def plant(ctx):
    """See the first line."""
    # Where there is no GPU, attention over context parallel ranks is the stand-in's: it has the fault then.
    return with_collective("fixtures.device.attention:_GatherSequence.backward", "all_reduce", does_nothing)
