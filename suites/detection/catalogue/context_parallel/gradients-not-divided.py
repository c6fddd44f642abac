"""Gradients are summed over context parallel ranks, but each rank's loss is taken as a mean over its own tokens."""

from suites.detection.fault import Fault, On
from suites.detection.planting import buckets_of, once_built

FAULT = Fault(
    area="context parallel",
    wrong="Gradients are summed over context parallel ranks, but each rank's loss is taken as a mean over its own tokens.",
    on=On("tp2cp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def multiply(model):
        for bucket in buckets_of(model):
            bucket.gradient_scaling_factor *= model.layout.cp

    return once_built(multiply)
