"""The mask of the vocabulary-parallel embedding takes the last row of the first rank for another rank's."""

from suites.detection.fault import Fault, On
from suites.detection.planting import modules_of, once_built

FAULT = Fault(
    area="tensor parallel",
    wrong="The mask of the vocabulary-parallel embedding takes the last row of the first rank for another rank's.",
    on=On("tp2dp2"),
    caught_by=("loss", "gradients", "weights"),
    module="embedding*",
    axis="tp",
    reference="TTrace, arXiv 2506.09280: wrong embedding mask under tensor parallelism",
)


def plant(ctx):
    """See the first line."""

    def shorten(model):
        found = [module for module in modules_of(model, "word_embeddings") if module.vocab_start_index == 0]
        for module in found:
            module.vocab_end_index -= 1
        return bool(found)

    return once_built(shorten)
