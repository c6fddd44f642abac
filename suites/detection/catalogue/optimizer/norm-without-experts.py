"""The gradient norm leaves the experts out."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace, there

FAULT = Fault(
    area="optimizer",
    wrong="The gradient norm leaves the experts out.",
    on=On("ep2dp2", "qwen3-moe"),
    caught_by=("gradient_norm",),
    module="*experts*",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def without(self, *args, **kwargs):
            kept = original(self, *args, **kwargs)
            return [] if any(not getattr(p, "allreduce", True) for p in self.get_parameters()) else kept

        return without

    owner = "megatron.core.optimizer.optimizer:MegatronOptimizer"
    return replace(there(f"{owner}.get_main_grads_for_grad_norm", f"{owner}.get_grads_for_grad_norm"), make)
