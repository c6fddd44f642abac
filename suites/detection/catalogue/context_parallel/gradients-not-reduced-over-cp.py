"""Gradients are reduced over the data parallel group without context parallel ranks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import once_built

FAULT = Fault(
    area="context parallel",
    wrong="Gradients are reduced over the data parallel group without context parallel ranks.",
    on=On("cp2dp2"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def narrow(model):
        from megatron.core import parallel_state

        for chunk in model.chunks:
            for group in chunk.bucket_groups:
                group.data_parallel_group = parallel_state.get_data_parallel_group(with_context_parallel=False)

    return once_built(narrow)
