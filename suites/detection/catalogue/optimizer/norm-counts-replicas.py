"""The gradient norm counts parameters that all tensor parallel ranks hold once a rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="optimizer",
    wrong="The gradient norm counts parameters that all tensor parallel ranks hold once a rank.",
    on=On("tp2pp2"),
    caught_by=("gradient_norm",),
    axis="tp",
    reference="TTrace, arXiv 2506.09280",
)


def plant(ctx):
    """See the first line."""
    return replace(
        "megatron.core.tensor_parallel:param_is_not_tensor_parallel_duplicate", lambda _original: lambda *_args, **_kwargs: True
    )
