"""The z-loss is twice what it should be."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="The z-loss is twice what it should be.",
    on=On("dp4ep2", "nemotron-3-nano"),
    caught_by=("z_loss",),
    module="*router*",
)


def plant(ctx):
    """See the first line."""
    return changed("megatron.core.transformer.moe.router:z_loss_func", lambda loss, *_args, **_kwargs: 2 * loss)
