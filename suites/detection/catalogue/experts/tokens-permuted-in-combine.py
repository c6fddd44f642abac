"""Tokens that come back from the experts are put in the wrong order."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, exchanged

FAULT = Fault(
    area="experts",
    wrong="Tokens that come back from the experts are put in the wrong order.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.mlp*",
    axis="ep",
)


def plant(ctx):
    """See the first line."""

    def roll(rows, *_args, **_kwargs):
        return rows.roll(1, dims=0) if ctx.rank == 1 and exchanged() else rows

    return changed("megatron.core.transformer.moe.token_dispatcher:MoEAlltoAllTokenDispatcher.token_combine", roll)
