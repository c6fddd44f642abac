"""Forward and backward give finite numbers in every module, on every rank, in every microbatch."""


def _finding(evidence, direction, check):
    """Name the first module with NaN or Inf, on the rank where it comes first.

    Microbatches go in order; within one, forward goes down the pipeline and backward up; within a stage ranks run alike, so
    that the one with the fewest tensors before it is first.
    """
    found = []
    for rank, ranks in enumerate(evidence.ranks):
        if ranks["finite"][direction]["watched"] == 0:
            return f"{check}: {evidence.where(rank)} ran no {direction} at all"
        first = ranks["finite"][direction]["first"]
        if first is not None:
            stage = evidence.case.layout.coordinates(rank)["pp"]
            order = stage if direction == "forward" else -stage
            found.append((first["microbatch"], order, first["position"], rank, first["module"]))
    if not found:
        return None
    microbatch, _, _, rank, module = min(found)
    what = "output" if direction == "forward" else "gradient of the output"
    return (
        f"{check}: NaN or Inf in {direction}: {what} of {module}, microbatch {microbatch}, on {evidence.where(rank)}, "
        f"comes first\n  ranks with NaN or Inf in {direction}: {sorted(row[3] for row in found)}"
    )


def test_forward_finite(evidence, check):
    check(_finding(evidence, "forward", check.name))


def test_backward_finite(evidence, check):
    check(_finding(evidence, "backward", check.name))
