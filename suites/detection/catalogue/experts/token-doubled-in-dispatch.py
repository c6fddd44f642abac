"""An expert gets one token twice, and another one not at all."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, exchanged

FAULT = Fault(
    area="experts",
    wrong="An expert gets one token twice, and another one not at all.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("tokens_conserved", "gradients"),
    module="decoder.layers.0.mlp*",
    axis="ep",
)


def plant(ctx):
    """See the first line."""
    import torch

    def again(result, *_args, **_kwargs):
        tokens, counts, probabilities = result
        if ctx.rank == 1 and len(tokens) > 1 and exchanged():
            tokens = torch.cat([tokens[:1], tokens[:1], tokens[2:]])
        return tokens, counts, probabilities

    return changed("megatron.core.transformer.moe.token_dispatcher:MoEAlltoAllTokenDispatcher.dispatch_postprocess", again)
