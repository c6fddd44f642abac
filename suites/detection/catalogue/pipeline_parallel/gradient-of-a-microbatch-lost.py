"""One microbatch's gradient does not get to the stage before."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, tensors_in, together

FAULT = Fault(
    area="pipeline parallel",
    wrong="One microbatch's gradient does not get to the stage before.",
    on=On("pp2dp2"),
    caught_by=("gradients",),
    module="decoder.layers.[34].*",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    calls = []

    def lost(received, *_args, **_kwargs):
        for tensor in tensors_in(received):
            calls.append(1)
            if len(calls) == 1:
                tensor.data.zero_()
        return received

    return together(
        changed("megatron.core.pipeline_parallel.p2p_communication:P2PCommunicator.recv_backward", lost),
        changed("megatron.core.pipeline_parallel.p2p_communication:P2PCommunicator.send_forward_recv_backward", lost),
    )
