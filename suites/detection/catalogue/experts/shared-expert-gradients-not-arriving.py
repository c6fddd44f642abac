"""The output of shared experts is added without a gradient."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="experts",
    wrong="The output of shared experts is added without a gradient.",
    on=On("dp4ep2", "deepseek-v2-lite", precision="float32"),
    caught_by=("gradients",),
    module="*shared_experts*",
)


def plant(ctx):
    """See the first line."""
    return changed(
        "megatron.core.transformer.moe.shared_experts:SharedExpertMLP.forward", lambda output, *_args: output.detach()
    )
