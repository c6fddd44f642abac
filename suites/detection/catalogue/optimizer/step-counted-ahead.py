"""The optimizer's count of steps is one ahead, so that its bias correction is that of a later step."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built, optimizers_of

FAULT = Fault(
    area="optimizer",
    wrong="The optimizer's count of steps is one ahead, so that its bias correction is that of a later step.",
    on=On("tp2dp2"),
    caught_by=("weights",),
    module="*",
)


def plant(ctx):
    """See the first line."""

    def ahead(model):
        for optimizer in optimizers_of(model):
            for group in optimizer.optimizer.param_groups:
                group["step"] = 1

    return once_built(ahead)
