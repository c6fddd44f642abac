"""The gradient norm before clipping is the one-rank norm, and the same number on every rank."""


def test_gradient_norm(evidence, check):
    rows = evidence.reference.numbers["grad_norms"]
    norms = evidence.ranks[0]["grad_norms"]
    ratios = [abs(value - row["value"]) / row["tolerance"] for value, row in zip(norms, rows, strict=True)]
    worst = max(range(len(rows)), key=lambda step: ratios[step])
    value, row = norms[worst], rows[worst]
    difference = abs(value - row["value"])
    finding = None
    if not difference <= row["tolerance"]:
        finding = (
            f"{check.name}: norm of step {worst} is {value!r}, the reference's is {row['value']!r}\n"
            f"  differs by {difference:.3g}, allowed {row['tolerance']:.3g}; squared ratio {(value / row['value']) ** 2:.6g}\n"
            "  a squared ratio above 1 counts some parameters more than once, below 1 leaves some out; "
            "look at what is marked as tensor parallel or shared"
        )
    check(finding, measured=difference, tolerance=row["tolerance"])


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
