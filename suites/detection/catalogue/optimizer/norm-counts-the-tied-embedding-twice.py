"""The gradient norm counts the tied embedding on the first and on the last stage."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="optimizer",
    wrong="The gradient norm counts the tied embedding on the first and on the last stage.",
    on=On("tp2pp2", "gpt-tied"),
    caught_by=("gradient_norm",),
    module="embedding.word_embeddings",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.optimizer.optimizer:param_is_not_shared", lambda _original: lambda _parameter: True)
