"""Gradients of the step before are not zeroed."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="Gradients of the step before are not zeroed.",
    on=On("tp2dp2"),
    caught_by=("gradient_norm", "loss_trajectory"),
    says=("step 1",),
)


def plant(ctx):
    """See the first line."""
    calls = []

    def make(original):
        def first_only(self, *args, **kwargs):
            calls.append(1)
            if len(calls) == 1:
                original(self, *args, **kwargs)
            else:
                for group in self.bucket_groups + self.expert_parallel_bucket_groups:
                    group.reset()
                for parameter in self.params_with_grad:
                    parameter.grad_added_to_main_grad = False

        return first_only

    return replace("megatron.core.distributed:DistributedDataParallel.zero_grad_buffer", make)
