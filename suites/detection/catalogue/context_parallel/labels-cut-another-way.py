"""Labels are cut into consecutive parts, tokens into zigzag chunks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="context parallel",
    wrong="Labels are cut into consecutive parts, tokens into zigzag chunks.",
    on=On("tp2cp2"),
    caught_by=("loss", "gradients"),
    module="loss",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def cut(batch, *args, cp_group=None, **kwargs):
            labels = batch["labels"].chunk(cp_group.size(), dim=1)[cp_group.rank()].contiguous()
            return {**original(dict(batch), *args, cp_group=cp_group, **kwargs), "labels": labels}

        return cut

    return replace("fixtures.stacks.megatron.model:get_batch_on_this_cp_rank", make)
