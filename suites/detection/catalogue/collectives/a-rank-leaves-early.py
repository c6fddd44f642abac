"""One rank leaves the training step without its forward and backward pass."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="collectives",
    wrong="One rank leaves the training step without its forward and backward pass.",
    on=On("tp2dp2"),
    caught_by=("completed",),
    says=("rank 2",),
)


def plant(ctx):
    """See the first line."""

    def make(step):
        return lambda model, batches: [] if ctx.rank == 2 else step(model, batches)

    return replace("fixtures.stacks.megatron.model:MegatronModel.forward_backward", make)
