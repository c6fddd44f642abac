"""Training goes on one iteration too far ahead: a batch is left out."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="checkpoint",
    wrong="Training goes on one iteration too far ahead: a batch is left out.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("progress_restored", "losses_resumed"),
    says=("iteration on rank 0", "is 3, saved was 2"),
    kind="pair",
    options={"target": "pp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    def ahead(_result, state, *_args):
        from fixtures.scenarios.checkpoint import SAMPLES

        state.iteration += 1
        state.consumed_samples += SAMPLES

    return changed("fixtures.stacks.megatron.checkpoint:MegatronCheckpointing._load", ahead)
