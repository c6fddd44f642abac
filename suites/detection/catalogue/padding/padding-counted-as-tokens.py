"""Tokens that are masked out of the loss are counted where it is averaged."""

from suites.detection.fault import Fault, On
from suites.detection.planting import changed

FAULT = Fault(
    area="padding",
    wrong="Tokens that are masked out of the loss are counted where it is averaged.",
    on=On("cp2"),
    caught_by=("cp_loss",),
    says=("on 2 ranks",),
    kind="masked",
    options={"mode": "per token", "mask": "prompts"},
)


def plant(ctx):
    """See the first line."""

    def count(result, mask, _output):
        loss, tokens, reported = result
        return loss, (tokens * 0 + mask.numel()).to(tokens.dtype), reported

    return changed("fixtures.stacks.megatron.model:_token_losses", count)
