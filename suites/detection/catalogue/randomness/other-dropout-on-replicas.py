"""Data parallel replicas seed the states of model parallel ranks with their own number."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="randomness",
    wrong="Data parallel replicas seed the states of model parallel ranks with their own number.",
    on=On("tp2dp2"),
    caught_by=("streams_alike",),
    axis="dp",
    says=("rank 2",),
    kind="randomness",
    options={"check": "streams"},
)


def plant(ctx):
    """See the first line."""

    def make(seed_all):
        def with_replica(seed):
            from megatron.core import parallel_state

            seed_all(seed + parallel_state.get_data_parallel_rank())

        return with_replica

    return replace("megatron.core.tensor_parallel:model_parallel_cuda_manual_seed", make)
