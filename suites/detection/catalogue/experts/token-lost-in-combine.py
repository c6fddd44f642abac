"""The last token that comes back from the experts is lost on one rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, exchanged

FAULT = Fault(
    area="experts",
    wrong="The last token that comes back from the experts is lost on one rank.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("tokens_conserved", "gradients"),
    module="decoder.layers.0.mlp*",
    axis="ep",
)


def plant(ctx):
    """See the first line."""
    import torch

    def lose(rows, *_args, **_kwargs):
        return torch.cat([rows[:-1], 0 * rows[-1:]]) if ctx.rank == 1 and len(rows) and exchanged() else rows

    return changed("megatron.core.transformer.moe.token_dispatcher:MoEAlltoAllTokenDispatcher.token_combine", lose)
