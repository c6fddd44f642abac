"""Gradients are summed over data parallel ranks and never divided by their number, with overlap."""

from suites.detection.fault import Fault, On
from suites.detection.planting import buckets_of, once_built

FAULT = Fault(
    area="data parallel",
    wrong="Gradients are summed over data parallel ranks and never divided by their number, with overlap.",
    on=On("pp2dp2", optimizer="adam-overlap"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
    axis="dp",
    reference="TTrace, arXiv 2506.09280: gradients not averaged over data parallel ranks with overlap",
)


def plant(ctx):
    """See the first line."""

    def multiply(model):
        for bucket in buckets_of(model):
            bucket.gradient_scaling_factor = 1.0

    return once_built(multiply)
