"""Gradients are scaled for an average over data parallel ranks, but not summed over them."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, with_collective

FAULT = Fault(
    area="data parallel",
    wrong="Gradients are scaled for an average over data parallel ranks, but not summed over them.",
    on=On("tp2dp2"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="*",
    axis="dp",
    short=True,
)


def plant(ctx):
    """See the first line."""
    return with_collective(
        "megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", "all_reduce", does_nothing
    )
