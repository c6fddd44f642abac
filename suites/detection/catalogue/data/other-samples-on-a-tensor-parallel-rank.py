"""Tensor parallel ranks get the samples of a microbatch in another order: each computes on another sample."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="data",
    wrong="Tensor parallel ranks of a replica compute on different samples.",
    on=On("tp2dp2"),
    caught_by=("replica_samples",),
    says=("rank 1 (tp1 dp0) got other samples than rank 0 of the same replica", "they differ along tp"),
    kind="data",
)


def plant(ctx):
    """See the first line."""
    import torch
    from megatron.core import parallel_state

    def turn(batch, *_args, **_kwargs):
        by = parallel_state.get_tensor_model_parallel_rank()
        return {key: torch.roll(value, by, dims=0) for key, value in batch.items()}

    return changed("fixtures.stacks.megatron.data:broadcast_data", turn)
