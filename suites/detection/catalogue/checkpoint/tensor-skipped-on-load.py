"""One weight has after the load what it had before."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="checkpoint",
    wrong="One weight has after the load what it had before.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("weights_restored", "losses_resumed"),
    module="*mlp.linear_fc2.weight",
    says=("nothing was loaded into it",),
    kind="pair",
    options={"target": "pp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    def make(load):
        def skipping(state, *args):
            import torch

            name, weight = next(item for item in state.model.parameters().items() if item[0].endswith("linear_fc2.weight"))
            before = weight.detach().clone()
            load(state, *args)
            with torch.no_grad():
                state.model.parameters()[name].copy_(before)

        return skipping

    return replace("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", make)
