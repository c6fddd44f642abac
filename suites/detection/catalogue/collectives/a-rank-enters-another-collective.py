"""One rank enters the collectives of two groups in another order: all wait for each other."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="collectives",
    wrong="One rank enters the collectives of two groups in another order: all wait for each other.",
    on=On("tp2dp2"),
    caught_by=("completed",),
    says=("rank 1",),
)


def plant(ctx):
    """See the first line."""

    def make(sync):
        def elsewhere(self, *args, **kwargs):
            import torch
            from megatron.core import parallel_state

            if ctx.rank == 1:
                torch.distributed.all_reduce(torch.zeros(3), group=parallel_state.get_tensor_model_parallel_group())
            return sync(self, *args, **kwargs)

        return elsewhere

    return replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", make)
