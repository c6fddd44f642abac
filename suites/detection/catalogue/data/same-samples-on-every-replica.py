"""The sampler of every data parallel rank takes the samples of the first."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data",
    wrong="The sampler of every data parallel rank takes the samples of the first.",
    on=On("tp2dp2"),
    caught_by=("own_samples", "epoch_once", "order_of_layout"),
    says=("replicas dp0 and dp1 train on", "samples of which each should be with one of them"),
    kind="data",
    short=True,
)


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.parallel_state:get_data_parallel_rank", lambda _original: lambda *_args, **_kwargs: 0)
