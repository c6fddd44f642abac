"""Each microbatch's gradient takes the place of the sum of those before it."""

from suites.detection.fault import Fault, On
from suites.detection.planting import reached, replace

FAULT = Fault(
    area="data parallel",
    wrong="Each microbatch's gradient takes the place of the sum of those before it.",
    on=On("tp2dp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def hook_of(self, parameter):
            hook = original(self, parameter)

            def overwrite(*unused):
                reached()
                parameter.main_grad.zero_()
                hook(*unused)

            return overwrite

        return hook_of

    return replace("megatron.core.distributed:DistributedDataParallel._make_backward_post_hook", make)
