"""The loss is divided by the number of microbatches twice on the last stage."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="pipeline parallel",
    wrong="The loss is divided by the number of microbatches twice on the last stage.",
    on=On("pp2dp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def divided(*args, **kwargs):
            output, tokens = original(*args, **kwargs)
            return output / 4, tokens

        return divided

    return replace("megatron.core.pipeline_parallel.schedules:forward_step_calc_loss", make)
