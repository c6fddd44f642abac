"""Gradients of routers are not summed over tensor parallel ranks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built

FAULT = Fault(
    area="sequence parallel",
    wrong="Gradients of routers are not summed over tensor parallel ranks.",
    on=On("tp2dp2ep2", "qwen3-moe"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="decoder.layers.*.mlp.router",
    axis="tp",
    reference="TTrace, arXiv 2506.09280: router weights not synchronised with sequence parallelism",
)


def plant(ctx):
    """See the first line."""

    def unmark(model):
        for module in modules_of(model, "mlp.router"):
            module.weight.sequence_parallel = False

    return once_built(unmark)
