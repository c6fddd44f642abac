"""Gradients of the norms of query and key are not summed over tensor parallel ranks."""

from unittest import mock

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="sequence parallel",
    wrong="Gradients of the norms of query and key are not summed over tensor parallel ranks.",
    on=On("tp2dp2", "qwen3-moe"),
    caught_by=("gradients", "gradient_sync"),
    module="decoder.layers.*.self_attention.?_layernorm",
    axis="tp",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def without(model, config, *args, **kwargs):
            marked = [
                p for chunk in model for name, p in chunk.named_parameters() if "q_layernorm" in name or "k_layernorm" in name
            ]
            before = [getattr(p, "sequence_parallel", False) for p in marked]
            for parameter in marked:
                parameter.sequence_parallel = False
            with mock.patch.object(config, "qk_layernorm", False):
                original(model, config, *args, **kwargs)
            for parameter, value in zip(marked, before, strict=True):
                parameter.sequence_parallel = value

        return without

    return replace("megatron.core.distributed.finalize_model_grads:_allreduce_non_tensor_model_parallel_grads", make)
