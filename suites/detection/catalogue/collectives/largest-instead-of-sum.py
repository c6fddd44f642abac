"""Gradients of data parallel ranks are not added: the larger one is taken."""

from suites.detection.fault import Fault, On
from suites.detection.planting import with_collective

FAULT = Fault(
    area="collectives",
    wrong="Gradients of data parallel ranks are not added: the larger one is taken.",
    on=On("tp2dp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def make(all_reduce):
        def largest(tensor, *args, **kwargs):
            import torch.distributed

            return all_reduce(tensor, *args, **{**kwargs, "op": torch.distributed.ReduceOp.MAX})

        return largest

    return with_collective(
        "megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", "all_reduce", make
    )
