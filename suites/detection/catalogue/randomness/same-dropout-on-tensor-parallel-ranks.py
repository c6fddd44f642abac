"""Tensor parallel ranks drop the same elements of their parts: the rank is not in the seed."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="randomness",
    wrong="Tensor parallel ranks drop the same elements of their parts: the rank is not in the seed.",
    on=On("tp2dp2"),
    caught_by=("streams_apart",),
    axis="tp",
    says=("model-parallel-rng",),
    kind="randomness",
    options={"check": "streams"},
)


def plant(ctx):
    """See the first line."""

    return replace(
        "megatron.core.tensor_parallel:model_parallel_cuda_manual_seed", lambda seed_all: lambda seed: seed_all(seed, tp_rank=0)
    )
