"""The batch is cut into consecutive parts, while attention takes them for zigzag chunks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="context parallel",
    wrong="The batch is cut into consecutive parts, while attention takes them for zigzag chunks.",
    on=On("tp2cp2"),
    caught_by=("loss", "gradients"),
    module="embedding*",
    axis="cp",
    reference="TTrace, arXiv 2506.09280: wrong order of the zigzag chunks of context parallelism",
)


def plant(ctx):
    """See the first line."""

    def consecutive(_original):
        def cut(batch, *_args, cp_group=None, **_kwargs):
            return {
                key: value if value is None else value.chunk(cp_group.size(), dim=1)[cp_group.rank()].contiguous()
                for key, value in batch.items()
            }

        return cut

    return replace("fixtures.stacks.megatron.model:get_batch_on_this_cp_rank", consecutive)
