"""The weights of the chosen experts are not normalised."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="The weights of the chosen experts are not normalised.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.mlp*",
)


def plant(ctx):
    """See the first line."""

    def lessen(result, logits, topk, *_args, **_kwargs):
        import torch

        probabilities, *rest = result
        whole = torch.softmax(logits, dim=-1)
        return (torch.where(probabilities > 0, whole, probabilities), *rest)

    return changed("megatron.core.transformer.moe.router:topk_routing_with_score_function", lessen)
