"""The gradient of a column-parallel layer's input is cut into sequence parts, but not summed over ranks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import Done, replace

FAULT = Fault(
    area="sequence parallel",
    wrong="The gradient of a column-parallel layer's input is cut into sequence parts, but not summed over ranks.",
    on=On("tp2dp2"),
    caught_by=("gradients",),
    module="output_layer",
    axis="tp",
)


def _cut_only(_original):
    def cut(output, whole, group=None, async_op=False, **_options):
        output.copy_(whole.chunk(group.size(), dim=0)[group.rank()])
        return Done()

    return cut


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.tensor_parallel.layers:dist_reduce_scatter_func", _cut_only)
