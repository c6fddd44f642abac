"""The gradient of a column-parallel layer's input is summed over tensor parallel ranks twice."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built

FAULT = Fault(
    area="tensor parallel",
    wrong="The gradient of a column-parallel layer's input is summed over tensor parallel ranks twice.",
    on=On("tp2dp2nosp"),
    caught_by=("gradients",),
    module="decoder.layers.2.mlp*",
    axis="tp",
)


def plant(ctx):
    """See the first line."""
    import torch.distributed
    from megatron.core import parallel_state

    def twice(model):
        def again(_module, gradients, _outputs):
            total = gradients[0].contiguous()
            torch.distributed.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
            return (total, *gradients[1:])

        for module in modules_of(model, "layers.2.mlp.linear_fc1"):
            module.register_full_backward_hook(again)

    return once_built(twice)
