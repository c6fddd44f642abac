"""The optimizer counts its steps from zero again, so that the bias correction of Adam is that of the first step."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="checkpoint",
    wrong="The optimizer counts its steps from zero again, so that the bias correction of Adam is that of the first step.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("progress_restored", "weights_resumed"),
    says=("optimizer_steps on rank 0",),
    kind="pair",
    options={"target": "tp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    def forget(_result, state, *_args):
        from fixtures.stacks.megatron import held

        for optimizer in held.optimizers_of(state.model):
            for group in optimizer.optimizer.param_groups:
                group["step"] = 0

    return changed("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", forget)
