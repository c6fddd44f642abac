"""Weight decay is applied to norms as well."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built, optimizers_of

FAULT = Fault(
    area="optimizer",
    wrong="Weight decay is applied to norms as well.",
    on=On("tp2dp2"),
    caught_by=("weights",),
    module="decoder.*",
    says=("only weights of norms are wrong",),
)


def plant(ctx):
    """See the first line."""

    def decay(model):
        for optimizer in optimizers_of(model):
            most = max(group["weight_decay"] for group in optimizer.param_groups)
            for group in optimizer.param_groups:
                group["weight_decay"] = most

    return once_built(decay)
