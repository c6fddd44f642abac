"""Gradients of experts are divided by the number of data parallel ranks twice: the scale of another group."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built

FAULT = Fault(
    area="experts",
    wrong="Gradients of experts are divided by the number of data parallel ranks twice: the scale of another group.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("gradients", "gradient_norm"),
    module="*experts*",
    axis="edp",
    reference="TTrace, arXiv 2506.09280: expert gradients scaled by the wrong group",
)


def plant(ctx):
    """See the first line."""

    def divide(model):
        for chunk in model.chunks:
            for group in chunk.expert_parallel_bucket_groups:
                for bucket in group.buckets:
                    bucket.gradient_scaling_factor /= model.layout.edp

    return once_built(divide)
