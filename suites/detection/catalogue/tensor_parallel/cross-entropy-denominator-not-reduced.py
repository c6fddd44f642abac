"""The vocabulary-parallel cross-entropy divides by the sum of exponentials of its own rank's part."""

from suites.detection.fault import Fault, On
from suites.detection.planting import with_collective

FAULT = Fault(
    area="tensor parallel",
    wrong="The vocabulary-parallel cross-entropy divides by the sum of exponentials of its own rank's part.",
    on=On("tp2dp2"),
    caught_by=("loss", "loss_agrees", "gradients"),
    module="loss",
    axis="tp",
)


def _third_is_left_out(all_reduce):
    calls = []

    def reduce(tensor, *args, **kwargs):
        calls.append(tensor)
        return None if len(calls) == 3 else all_reduce(tensor, *args, **kwargs)

    return reduce


def plant(ctx):
    """See the first line."""
    # The three are: the largest logit, the logit of the right token, the sum of exponentials.
    return with_collective(
        "megatron.core.tensor_parallel.cross_entropy:_VocabParallelCrossEntropy.forward", "all_reduce", _third_is_left_out
    )
