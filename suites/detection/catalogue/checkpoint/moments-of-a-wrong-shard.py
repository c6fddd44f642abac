"""A parameter gets the optimizer moments of another part after a load in another layout."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="checkpoint",
    wrong="A parameter gets the optimizer moments of another part after a load in another layout.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("optimizer_restored", "weights_resumed"),
    module="exp_avg/*",
    kind="pair",
    options={"target": "pp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    def shift(_result, state, *_args):
        from fixtures.stacks.megatron import held

        for optimizer in held.optimizers_of(state.model):
            moments = [found["exp_avg"] for found in optimizer.optimizer.state.values() if found.get("exp_avg") is not None]
            widest = max(moments, key=lambda moment: moment.numel())
            widest.copy_(widest.roll(widest.shape[0] // 2, dims=0))

    return changed("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", shift)
