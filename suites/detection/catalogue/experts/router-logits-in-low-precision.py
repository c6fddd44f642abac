"""The router's logits are computed in bfloat16."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="The router's logits are computed in bfloat16.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("routing",),
    module="decoder.layers.0.mlp.router",
)


def plant(ctx):
    """See the first line."""
    import torch

    return changed(
        "megatron.core.transformer.moe.router:TopKRouter.gating",
        lambda logits, *_args: logits.to(torch.bfloat16).to(logits.dtype),
    )
