"""The reduce-scatter of the distributed optimizer gives a rank the part of another rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="data parallel",
    wrong="The reduce-scatter of the distributed optimizer gives a rank the part of another rank.",
    on=On("tp2dp2", optimizer="distributed"),
    caught_by=("gradients", "weights"),
    module="*",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def make(scatter):
        def shifted(self, *args, **kwargs):
            for bucket in self.buckets if self.intra_distributed_optimizer_instance_size > 1 else ():
                bucket.grad_data.copy_(bucket.grad_data.roll(bucket.grad_data.numel() // 2))
            scatter(self, *args, **kwargs)

        return shifted

    return replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", make)
