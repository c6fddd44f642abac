"""A context parallel rank scans its heads with the decay of other heads."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="state space",
    wrong="A context parallel rank scans its heads with the decay of other heads.",
    on=On("cp2dp2", "nemotron-3-nano"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.*.mixer*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def other(decay, layer, *_args):
        return decay.roll(1, dims=0) if layer.cp_size > 1 and layer.cp_group.rank() == 1 else decay

    return changed("megatron.core.ssm.mamba_context_parallel:MambaContextParallel.get_A_log", other)
