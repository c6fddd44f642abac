"""The gradient of a column-parallel layer's input is not summed over tensor parallel ranks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built, replace, together

FAULT = Fault(
    area="tensor parallel",
    wrong="The gradient of a column-parallel layer's input is not summed over tensor parallel ranks.",
    on=On("tp2dp2nosp"),
    caught_by=("gradients", "gradient_sync"),
    module="decoder.layers.*.mlp*",
    axis="tp",
)


def plant(ctx):
    """See the first line."""

    def forget(model):
        for module in modules_of(model, "mlp.linear_fc1"):
            module.allreduce_dgrad = False

    return together(
        once_built(forget),
        replace(
            "megatron.core.tensor_parallel.layers:copy_to_tensor_model_parallel_region",
            lambda _original: lambda whole, group=None: whole,
        ),
    )
