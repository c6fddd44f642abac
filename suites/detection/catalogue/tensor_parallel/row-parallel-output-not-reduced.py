"""The output of row-parallel layers is not summed over tensor parallel ranks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="tensor parallel",
    wrong="The output of row-parallel layers is not summed over tensor parallel ranks.",
    on=On("tp2dp2nosp"),
    caught_by=("loss", "gradients"),
    module="embedding*",
    axis="tp",
)


def plant(ctx):
    """See the first line."""
    return replace(
        "megatron.core.tensor_parallel.layers:reduce_from_tensor_model_parallel_region",
        lambda _original: lambda local, group=None: local,
    )
