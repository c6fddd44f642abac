"""Gradients are summed and kept in bfloat16, as the weights are, and not in float32."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="precision",
    wrong="Gradients are summed and kept in bfloat16, as the weights are, and not in float32.",
    on=On("tp2dp2", precision="bfloat16"),
    caught_by=("gradient_bytes",),
    says=("bytes of gradients",),
    kind="memory",
)


def plant(ctx):
    """See the first line."""

    def make(build):
        def narrow(self, config, ddp_config, *args, **kwargs):
            from dataclasses import replace as changed

            build(self, config, changed(ddp_config, grad_reduce_in_fp32=False), *args, **kwargs)

        return narrow

    return replace("megatron.core.distributed.distributed_data_parallel:DistributedDataParallel.__init__", make)
