"""Ranks of the last pipeline stage clip by a larger norm."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="optimizer",
    wrong="Ranks of the last pipeline stage clip by a larger norm.",
    on=On("tp2pp2"),
    caught_by=("gradient_norm_agrees", "weights"),
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def more(result, *_args, **_kwargs):
        return result * 1.25 if parallel_state.get_pipeline_model_parallel_rank() == 1 else result

    return changed("megatron.core.optimizer.optimizer:get_grad_norm_fp32", more)
