"""Gradients of a tied embedding are summed over the first and the last stage twice."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="pipeline parallel",
    wrong="Gradients of a tied embedding are summed over the first and the last stage twice.",
    on=On("pp2dp2", "gpt-tied"),
    caught_by=("gradients",),
    module="embedding.word_embeddings",
    axis="pp",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def twice(*args, **kwargs):
            original(*args, **kwargs)
            original(*args, **kwargs)

        return twice

    return replace("megatron.core.distributed.finalize_model_grads:_allreduce_word_embedding_grads", make)
