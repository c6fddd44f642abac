"""One data parallel rank does not clip."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="optimizer",
    wrong="One data parallel rank does not clip.",
    on=On("tp2dp2"),
    caught_by=("weights", "weight_replicas"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""
    from megatron.core import parallel_state

    def make(original):
        return lambda *args, **kwargs: None if parallel_state.get_data_parallel_rank() == 1 else original(*args, **kwargs)

    return replace("megatron.core.optimizer.optimizer:clip_grad_by_total_norm_fp32", make)
