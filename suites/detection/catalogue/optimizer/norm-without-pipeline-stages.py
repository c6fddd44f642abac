"""The gradient norm is summed over tensor parallel ranks, not over pipeline stages."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="optimizer",
    wrong="The gradient norm is summed over tensor parallel ranks, not over pipeline stages.",
    on=On("tp2pp2"),
    caught_by=("gradient_norm", "gradient_norm_agrees"),
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    return replace(
        "megatron.core.optimizer.optimizer:MegatronOptimizer.get_grad_stats_parallel_group",
        lambda _original: lambda self: parallel_state.get_tensor_model_parallel_group(),
    )
