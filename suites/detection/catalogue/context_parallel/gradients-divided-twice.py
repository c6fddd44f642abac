"""Gradients are divided by the number of context parallel ranks twice."""

from suites.detection.fault import Fault, On
from suites.detection.planting import buckets_of, once_built

FAULT = Fault(
    area="context parallel",
    wrong="Gradients are divided by the number of context parallel ranks twice.",
    on=On("tp2cp2"),
    caught_by=("gradients", "gradient_norm"),
    module="*",
    axis="cp",
    reference="TTrace, arXiv 2506.09280: wrong scale of the loss under context parallelism",
)


def plant(ctx):
    """See the first line."""

    def divide(model):
        for bucket in buckets_of(model):
            bucket.gradient_scaling_factor /= model.layout.cp

    return once_built(divide)
