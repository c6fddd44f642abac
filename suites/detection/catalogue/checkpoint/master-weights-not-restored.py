"""The optimizer goes on from master weights that were made from rounded ones."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="checkpoint",
    wrong="The optimizer goes on from master weights that were made from rounded ones.",
    on=On("tp2dp2", precision="bfloat16", optimizer="distributed"),
    caught_by=("optimizer_restored",),
    says=("master",),
    kind="pair",
    options={"target": "tp2dp2", "when": "load", "sharding": "fully_reshardable"},
)


def plant(ctx):
    """See the first line."""

    def rounded(_result, state, *_args):
        import torch

        from fixtures.stacks.megatron import held

        with torch.no_grad():
            for optimizer in held.optimizers_of(state.model):
                for group in optimizer.shard_fp32_from_float16_groups:
                    for master in group:
                        master.copy_(master.bfloat16())

    return changed("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", rounded)
