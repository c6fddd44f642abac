"""Gradients of experts are not summed over expert data parallel ranks."""

from unittest import mock

from suites.detection.fault import Fault, On
from suites.detection.planting import reached, replace

FAULT = Fault(
    area="experts",
    wrong="Gradients of experts are not summed over expert data parallel ranks.",
    on=On("dp4ep2", "qwen3-moe"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="*experts*",
    axis="edp",
)


def plant(ctx):
    """See the first line."""
    import torch

    def make(original):
        def start(self, *args, **kwargs):
            if all(getattr(parameter, "allreduce", True) for parameter in self.params):
                return original(self, *args, **kwargs)
            reached()
            with mock.patch.object(torch.distributed, "all_reduce"):
                return original(self, *args, **kwargs)

        return start

    return replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", make)
