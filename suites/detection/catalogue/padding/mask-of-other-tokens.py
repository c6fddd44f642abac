"""The loss mask is cut into consecutive parts, tokens into zigzag chunks."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="padding",
    wrong="The loss mask is cut into consecutive parts, tokens into zigzag chunks.",
    on=On("cp2"),
    caught_by=("cp_loss",),
    says=("on 2 ranks",),
    kind="masked",
    options={"mode": "per token", "mask": "prompts"},
)


def plant(ctx):
    """See the first line."""

    def make(cut):
        def in_order(whole):
            from megatron.core import parallel_state

            group = parallel_state.get_context_parallel_group()
            mask = whole["loss_mask"].chunk(group.size(), dim=1)[group.rank()].contiguous()
            return {**cut(dict(whole)), "loss_mask": mask}

        return in_order

    return replace("fixtures.scenarios.context_parallel_loss:cut", make)
