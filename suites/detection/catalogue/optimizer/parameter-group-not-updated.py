"""The distributed optimizer does not update one of its parameter groups."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built, optimizers_of

FAULT = Fault(
    area="optimizer",
    wrong="The distributed optimizer does not update one of its parameter groups.",
    on=On("tp2dp2", optimizer="distributed"),
    caught_by=("weights",),
    module="*norm*",
)


def plant(ctx):
    """See the first line."""

    def freeze(model):
        for optimizer in optimizers_of(model):
            for group in optimizer.param_groups:
                if group["wd_mult"] == 0.0:
                    group["lr"] = 0.0

    return once_built(freeze)
