"""One element of an output is not a number on one rank, and a sum takes it to all."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="collectives",
    wrong="One element of an output is not a number on one rank, and a sum takes it to all.",
    on=On("tp2dp2"),
    caught_by=("forward_finite", "gradients"),
    module="decoder.layers.0.self_attention*",
    says=("rank 1",),
)


def plant(ctx):
    """See the first line."""

    def poison(result, *_args, **_kwargs):
        query, key, value, *rest = result
        if ctx.rank == 1:
            value = value.clone()
            value[0, 0, 0, 0] = float("nan")
        return (query, key, value, *rest)

    return changed("megatron.core.transformer.attention:SelfAttention.get_query_key_value_tensors", poison)
