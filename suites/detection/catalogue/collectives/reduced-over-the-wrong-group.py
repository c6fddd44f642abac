"""Gradients are summed over tensor parallel ranks instead of data parallel ones."""

from suites.detection.fault import Fault, On
from suites.detection.planting import with_collective

FAULT = Fault(
    area="collectives",
    wrong="Gradients are summed over tensor parallel ranks instead of data parallel ones.",
    on=On("tp2dp2"),
    caught_by=("gradients",),
    module="*",
)


def plant(ctx):
    """See the first line."""

    def make(all_reduce):
        def elsewhere(tensor, *args, **kwargs):
            from megatron.core import parallel_state

            return all_reduce(tensor, *args, **{**kwargs, "group": parallel_state.get_tensor_model_parallel_group()})

        return elsewhere

    return with_collective(
        "megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", "all_reduce", make
    )
