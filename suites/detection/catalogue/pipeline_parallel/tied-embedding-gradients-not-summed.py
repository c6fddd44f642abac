"""Gradients of a tied embedding are not summed over the first and the last stage."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, replace

FAULT = Fault(
    area="pipeline parallel",
    wrong="Gradients of a tied embedding are not summed over the first and the last stage.",
    on=On("pp2dp2", "gpt-tied"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="embedding.word_embeddings",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.distributed.finalize_model_grads:_allreduce_word_embedding_grads", does_nothing)
