"""A tensor parallel rank pairs its query heads with another group's keys."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="tensor parallel",
    wrong="A tensor parallel rank pairs its query heads with another group's keys.",
    on=On("tp2dp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.self_attention*",
    axis="tp",
)


def plant(ctx):
    """See the first line."""

    from megatron.core import parallel_state

    def shifted(result, *_args, **_kwargs):
        query, key, *rest = result
        return (query, key.roll(1, dims=2) if parallel_state.get_tensor_model_parallel_rank() == 1 else key, *rest)

    return changed("megatron.core.transformer.attention:SelfAttention.get_query_key_value_tensors", shifted)
