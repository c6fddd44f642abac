"""The distributed optimizer's parts of the parameters are gathered in the wrong order."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="The distributed optimizer's parts of the parameters are gathered in the wrong order.",
    on=On("tp2dp2", optimizer="distributed"),
    caught_by=("weights", "loss_trajectory"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def make(gather):
        def shifted(whole, part, group=None, async_op=False):
            handle = gather(whole, part.clone(), group=group)
            if handle is not None:
                handle.wait()
            whole.copy_(whole.roll(part.numel()))

        return shifted

    return replace("megatron.core.distributed.param_and_grad_buffer:dist_all_gather_func", make)
