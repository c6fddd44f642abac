"""Rotary embeddings of a context parallel rank are those of consecutive positions."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="context parallel",
    wrong="Rotary embeddings of a context parallel rank are those of consecutive positions.",
    on=On("tp2cp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.self_attention*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def consecutive(_original):
        return lambda whole, dim, group: whole.chunk(group.size(), dim=dim)[group.rank()]

    return replace("megatron.core.models.common.embeddings.rotary_pos_embedding:get_pos_emb_on_this_cp_rank", consecutive)
