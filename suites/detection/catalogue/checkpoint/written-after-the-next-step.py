"""A checkpoint holds weights of a step later than it says."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="checkpoint",
    wrong="A checkpoint holds weights of a step later than it says.",
    on=On("tp2dp2", precision="float32"),
    caught_by=("weights_restored", "losses_resumed"),
    module="weight/*",
    says=("other values were loaded",),
    kind="pair",
    options={"target": "tp2dp2", "when": "save"},
)


def plant(ctx):
    """See the first line."""

    def make(save):
        def late(state, *args, **kwargs):
            import torch

            def tensors(part):
                if isinstance(part, dict):
                    part = list(part.values())
                if isinstance(part, (list, tuple)):
                    for one in part:
                        yield from tensors(one)
                elif isinstance(getattr(part, "data", None), torch.Tensor) and part.data.is_floating_point():
                    yield part.data

            with torch.no_grad():
                for tensor in tensors(state):
                    tensor.add_(1e-3)
            return save(state, *args, **kwargs)

        return late

    return replace("megatron.core.dist_checkpointing:save", make)
