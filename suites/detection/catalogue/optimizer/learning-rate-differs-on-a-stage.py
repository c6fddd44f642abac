"""The last pipeline stage uses another learning rate."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built, optimizers_of

FAULT = Fault(
    area="optimizer",
    wrong="The last pipeline stage uses another learning rate.",
    on=On("tp2pp2"),
    caught_by=("weights",),
    module="*",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def raise_rate(model):
        if parallel_state.get_pipeline_model_parallel_rank() != 1:
            return False
        for optimizer in optimizers_of(model):
            for group in optimizer.param_groups:
                group["lr"] *= 1.5

    return once_built(raise_rate)
