"""The distributed optimizer's parts of the parameters are gathered in the wrong order."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="The distributed optimizer's parts of the parameters are gathered in the wrong order.",
    on=On("tp2dp2", optimizer="distributed"),
    caught_by=("weights", "loss_trajectory"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def make(gather):
        def shifted(self, *args, **kwargs):
            gather(self, *args, **kwargs)
            if self.intra_distributed_optimizer_instance_size == 1:
                return
            for bucket in self.buckets:
                bucket.param_data.copy_(bucket.param_data.roll(bucket.param_data.numel() // 2))

        return shifted

    return replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_param_sync", make)
