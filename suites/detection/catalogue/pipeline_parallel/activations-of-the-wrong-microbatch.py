"""A stage computes with the activations of the first microbatch again."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed, tensors_in, together

FAULT = Fault(
    area="pipeline parallel",
    wrong="A stage computes with the activations of the first microbatch again.",
    on=On("pp2dp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.4*",
    axis="pp",
)


def plant(ctx):
    """See the first line."""
    kept = []

    def first_again(received, *_args, **_kwargs):
        for tensor in tensors_in(received):
            if not kept or kept[0].shape != tensor.shape:  # a later step has microbatches of another size
                kept[:] = [tensor.detach().clone()]
            tensor.data.copy_(kept[0])
        return received

    return together(
        changed("megatron.core.pipeline_parallel.p2p_communication:P2PCommunicator.recv_forward", first_again),
        changed("megatron.core.pipeline_parallel.p2p_communication:P2PCommunicator.send_backward_recv_forward", first_again),
    )
