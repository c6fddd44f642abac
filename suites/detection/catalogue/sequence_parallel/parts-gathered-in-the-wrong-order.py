"""The parts of the sequence are gathered in the wrong order before a column-parallel layer."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="sequence parallel",
    wrong="The parts of the sequence are gathered in the wrong order before a column-parallel layer.",
    on=On("tp2dp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0*",
    axis="tp",
)


def _swapped(gather):
    def wrong(output, local, group=None, async_op=False, **options):
        handle = gather(output, local, group=group, **options)
        if handle is not None:
            handle.wait()
        output.copy_(output.roll(local.shape[0], dims=0))
        return gather(output.new_empty(output.shape), local, group=group, async_op=True) if async_op else None

    return wrong


def plant(ctx):
    """See the first line."""
    return replace("megatron.core.tensor_parallel.layers:dist_all_gather_func", _swapped)
