"""The decay of the state of a Mamba layer gets no gradient."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="state space",
    wrong="The decay of the state of a Mamba layer gets no gradient.",
    on=On("tp2", "nemotron-3-nano"),
    caught_by=("gradients",),
    module="decoder.layers.*.mixer*",
)


def plant(ctx):
    """See the first line."""

    return changed(
        "megatron.core.ssm.mamba_context_parallel:MambaContextParallel.get_A_log", lambda decay, *_args: decay.detach()
    )
