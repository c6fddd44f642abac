"""A rank's experts are those of another rank: it computes with the wrong index."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built

FAULT = Fault(
    area="experts",
    wrong="A rank's experts are those of another rank: it computes with the wrong index.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.mlp*",
    axis="ep",
)


def plant(ctx):
    """See the first line."""

    def swap(model):
        import torch
        from megatron.core import parallel_state

        if parallel_state.get_expert_model_parallel_rank() == 0:
            return
        for experts in modules_of(model, "mlp.experts"):
            weights = [expert.linear_fc2.weight for expert in experts.local_experts]
            first = weights[0].detach().clone()
            with torch.no_grad():
                weights[0].copy_(weights[1])
                weights[1].copy_(first)

    return once_built(swap)
