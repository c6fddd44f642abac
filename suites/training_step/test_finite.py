"""Forward and backward give finite numbers in every module, on every rank, in every microbatch."""


def _finding(evidence, direction, check):
    """Name the first module with NaN or Inf, of the rank where it comes first."""
    for rank, ranks in enumerate(evidence.ranks):
        first = ranks["finite"][direction]["first"]
        if first is not None:
            what = "output" if direction == "forward" else "gradient of the output"
            return (
                f"{check}: NaN or Inf in {direction}: {what} of {first['module'] or 'the model'}, microbatch "
                f"{first['microbatch']}, on {evidence.where(rank)}; it is the first in execution order there\n"
                f"  ranks with NaN or Inf in {direction}: "
                f"{[r for r, other in enumerate(evidence.ranks) if other['finite'][direction]['first']]}"
            )
        if ranks["finite"][direction]["watched"] == 0:
            return f"{check}: {evidence.where(rank)} ran no {direction} at all"
    return None


def test_forward_finite(evidence, check):
    check(_finding(evidence, "forward", check.name))


def test_backward_finite(evidence, check):
    check(_finding(evidence, "backward", check.name))
