"""The random states of a rank are not those that were saved."""

from suites.detection.fault import Fault, On
from suites.detection.planting import does_nothing, replace

FAULT = Fault(
    area="checkpoint",
    wrong="The random states of a rank are not those that were saved.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("random_state_restored",),
    says=("of rank 0",),
    kind="pair",
    options={"target": "tp2dp2", "when": "load"},
)


def plant(ctx):
    """See the first line."""

    return replace("fixtures.stacks.megatron.checkpoint:_restore", does_nothing)
