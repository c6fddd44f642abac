"""One rank sends a token to another expert than it should."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="One rank sends a token to another expert than it should.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("routing",),
    module="decoder.layers.0.mlp.router",
    says=("rank 2",),
)


def plant(ctx):
    """See the first line."""
    import torch

    def other(logits, *_args):
        if ctx.rank != 2:
            return logits
        shift = torch.zeros_like(logits)
        shift[0, 0, int(logits[0, 0].argmin())] = 100.0
        return logits + shift

    return changed("megatron.core.transformer.moe.router:TopKRouter.gating", other)
