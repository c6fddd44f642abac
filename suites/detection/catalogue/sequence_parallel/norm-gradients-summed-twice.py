"""Gradients of norms are summed over tensor parallel ranks twice."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="sequence parallel",
    wrong="Gradients of norms are summed over tensor parallel ranks twice.",
    on=On("tp2dp2"),
    caught_by=("gradients",),
    module="decoder.*",
    axis="tp",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def twice(*args, **kwargs):
            original(*args, **kwargs)
            original(*args, **kwargs)

        return twice

    return replace("megatron.core.distributed.finalize_model_grads:_allreduce_non_tensor_model_parallel_grads", make)
