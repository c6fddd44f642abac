"""Gradients are divided by the number of data parallel ranks twice."""

from suites.detection.fault import Fault, On
from suites.detection.planting import buckets_of, once_built

FAULT = Fault(
    area="data parallel",
    wrong="Gradients are divided by the number of data parallel ranks twice.",
    on=On("tp2dp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def divide(model):
        for bucket in buckets_of(model):
            bucket.gradient_scaling_factor /= model.layout.dp

    return once_built(divide)
