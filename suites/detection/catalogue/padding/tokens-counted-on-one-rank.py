"""Every rank divides the loss by its own number of tokens, though prompts leave ranks unequal ones."""

from suites.detection.fault import Fault, On
from suites.detection.planting import with_collective

FAULT = Fault(
    area="padding",
    wrong="Every rank divides the loss by its own number of tokens, though prompts leave ranks unequal ones.",
    on=On("cp2"),
    caught_by=("cp_loss",),
    says=("on 2 ranks",),
    kind="masked",
    options={"mode": "per token", "mask": "prompts"},
)


def plant(ctx):
    """See the first line."""

    def make(all_reduce):
        def own(tensor, *args, **kwargs):
            return all_reduce(tensor, *args, **kwargs) if tensor.is_floating_point() else None

        return own

    return with_collective("fixtures.stacks.megatron.model:finalize_model_grads", "all_reduce", make)
