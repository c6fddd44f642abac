"""The gradient norm before clipping is the one-rank norm, and the same number on every rank."""

from fixtures.oracle.norm import norm_differs


def test_gradient_norm(evidence, check):
    rows = evidence.reference.numbers["grad_norms"]
    norms = evidence.ranks[0]["grad_norms"]
    differences = [abs(value - row["value"]) for value, row in zip(norms, rows, strict=True)]
    wrong = [step for step, row in enumerate(rows) if not differences[step] <= row["tolerance"]]
    # What is wrong in a later step may come from an earlier one.
    step = wrong[0] if wrong else max(range(len(rows)), key=lambda step: differences[step] / rows[step]["tolerance"])
    finding = norm_differs(evidence, check.name, step) if wrong else None
    check(finding, measured=differences[step], tolerance=rows[step]["tolerance"])


def test_gradient_norm_agrees(evidence, check):
    values = {}
    for rank, ranks in enumerate(evidence.ranks):
        values.setdefault(tuple(ranks["grad_norms"]), []).append(rank)
    sides = "; ".join(f"ranks {ranks}: {list(norms)}" for norms, ranks in values.items())
    check(len(values) > 1 and f"{check.name}: ranks clip by different norms: {sides}")


def test_optimizer_updates(evidence, check):
    """No rank skips a step: every optimizer says that it updated."""
    skipped = [
        (rank, step)
        for rank, ranks in enumerate(evidence.ranks)
        for step, updated in enumerate(ranks["updated"])
        if not updated
    ]
    check(skipped and f"{check.name}: {evidence.where(skipped[0][0])} skipped step {skipped[0][1]}; in all {len(skipped)}")
