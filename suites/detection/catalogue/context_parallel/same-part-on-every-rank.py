"""All context parallel ranks train on the first rank's part of the sequence."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="context parallel",
    wrong="All context parallel ranks train on the first rank's part of the sequence.",
    on=On("tp2cp2"),
    caught_by=("loss", "gradients"),
    module="embedding*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""

    def make(original):
        def first(batch, *args, cp_group=None, **kwargs):
            import torch.distributed

            mine = original(batch, *args, cp_group=cp_group, **kwargs)
            root = torch.distributed.get_process_group_ranks(cp_group)[0]
            for key in ("tokens", "labels"):
                value = mine[key].contiguous()
                torch.distributed.broadcast(value, root, group=cp_group)
                mine[key] = value
            return mine

        return first

    return replace("fixtures.stacks.megatron.model:get_batch_on_this_cp_rank", make)
