"""The state of a Mamba layer runs through the chunks of the sequence in the order of attention."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="state space",
    wrong="The state of a Mamba layer runs through the chunks of the sequence in the order of attention.",
    on=On("cp2dp2", "nemotron-3-nano"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.*.mixer*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    return replace(
        "megatron.core.ssm.mamba_context_parallel:_undo_attention_load_balancing",
        lambda _original: lambda values, *_args, **_kwargs: values,
    )
