"""The balance loss is half of what it should be."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="The balance loss is half of what it should be.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("balance_loss", "gradients"),
    module="*router*",
    reference="TTrace, arXiv 2506.09280: wrong scale of the balance loss",
)


def plant(ctx):
    """See the first line."""
    return changed(
        "megatron.core.transformer.moe.router:switch_load_balancing_loss_func", lambda loss, *_args, **_kwargs: loss / 2
    )
