"""One parameter's gradient is left out when its bucket is reduced."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built, replace, together

FAULT = Fault(
    area="data parallel",
    wrong="One parameter's gradient is left out when its bucket is reduced.",
    on=On("tp2dp2"),
    caught_by=("gradients", "gradient_sync", "weight_replicas"),
    module="decoder.layers.3.mlp.linear_fc2",
    axis="dp",
)


def plant(ctx):
    """See the first line."""

    def mark(model):
        for module in modules_of(model, "layers.3.mlp.linear_fc2"):
            module.weight.left_out = True

    def make(original):
        def without_one(self, *args, **kwargs):
            before = {p: p.main_grad * self.buckets[0].gradient_scaling_factor for p in self.params if hasattr(p, "left_out")}
            original(self, *args, **kwargs)
            for parameter, gradient in before.items():
                parameter.main_grad.copy_(gradient)

        return without_one

    return together(
        once_built(mark),
        replace("megatron.core.distributed.param_and_grad_buffer:_ParamAndGradBucketGroup.start_grad_sync", make),
    )
