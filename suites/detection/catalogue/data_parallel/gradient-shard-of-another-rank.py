"""The reduce-scatter of the distributed optimizer gives a rank the part of another rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="The reduce-scatter of the distributed optimizer gives a rank the part of another rank.",
    on=On("tp2dp2", optimizer="distributed"),
    caught_by=("gradients", "weights"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def make(scatter):
        def shifted(part, whole, op=None, group=None, async_op=False):
            rolled = whole.roll(part.numel())
            mine = part.new_empty(part.shape)
            handle = scatter(mine, rolled, op=op, group=group)
            if handle is not None:
                handle.wait()
            part.copy_(mine)

        return shifted

    return replace("megatron.core.distributed.param_and_grad_buffer:dist_reduce_scatter_func", make)
