"""The step that sums gradients of norms over tensor parallel ranks is left out."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, replace

FAULT = Fault(
    area="sequence parallelism",
    wrong="Gradients of norms are not summed over tensor parallel ranks.",
    on=On("tp2pp2"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="decoder.*",
    axis="tp",
    says=("layer_norm_weight",),
    short=True,
)


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.distributed.finalize_model_grads:_allreduce_non_tensor_model_parallel_grads", does_nothing)
