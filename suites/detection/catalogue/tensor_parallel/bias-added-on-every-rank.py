"""The bias of a row-parallel layer is added once by each tensor parallel rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="tensor parallel",
    wrong="The bias of a row-parallel layer is added once by each tensor parallel rank.",
    on=On("tp2dp2", "gpt-tied"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0*",
    axis="tp",
)


def _many_times(result, layer, *_inputs):
    output, bias = result
    return output, bias * layer.tp_group.size()


def plant(ctx):
    """See the first line."""
    return changed("megatron.core.tensor_parallel.layers:RowParallelLinear.forward", _many_times)
