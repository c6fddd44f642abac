"""Tokens come back with the weight that the router gave to another expert."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="Tokens come back with the weight that the router gave to another expert.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.mlp*",
)


def plant(ctx):
    """See the first line."""

    def roll(result, *_args, **_kwargs):
        tokens, counts, probabilities = result
        return tokens, counts, probabilities.roll(1, dims=0)

    return changed("megatron.core.transformer.moe.token_dispatcher:MoEAlltoAllTokenDispatcher.dispatch_postprocess", roll)
