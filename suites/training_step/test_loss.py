"""The loss is the one-rank loss, in the first step and along the trajectory."""

from fixtures.architectures import get
from fixtures.oracle.batch import GLOBAL_BATCH


def _finding(evidence, step, check):
    value, expected = evidence.losses()[step], evidence.reference.numbers["losses"][step]
    difference = abs(value - expected["value"])
    if difference <= expected["tolerance"]:
        return None
    ratio = value / expected["value"]
    return (
        f"{check}: loss of step {step} is {value!r}, the reference's is {expected['value']!r}\n"
        f"  differs by {difference:.3g}, allowed {expected['tolerance']:.3g}; ratio {ratio:.6g}"
    )


def test_loss(evidence, check):
    expected = evidence.reference.numbers["losses"][0]
    check(
        _finding(evidence, 0, check.name),
        measured=abs(evidence.losses()[0] - expected["value"]),
        tolerance=expected["tolerance"],
    )


def test_loss_agrees(evidence, check):
    """Tensor parallel ranks of one replica report the same loss, to the bit."""
    layout = evidence.case.layout
    wrong = []
    for group in layout.rank_groups()["tp"]:
        reported = {str(evidence.ranks[rank]["losses"]) for rank in group}
        if len(reported) > 1:
            wrong.append(group)
    check(wrong and f"{check.name}: tensor parallel ranks {wrong[0]} report different losses; groups that do: {len(wrong)}")


def test_tokens(evidence, check):
    """Every token of the global batch is trained on exactly once."""
    expected = GLOBAL_BATCH * get(evidence.case.architecture).seq_length
    wrong = [(step, tokens) for step, tokens in enumerate(evidence.tokens()) if tokens != expected]
    check(wrong and f"{check.name}: {wrong[0][1]} tokens in step {wrong[0][0]}, the global batch has {expected}")


def test_loss_trajectory(evidence, check):
    """Three steps: each loss depends on the updates before it."""
    rows = evidence.reference.numbers["losses"]
    findings = [_finding(evidence, step, check.name) for step in range(1, len(rows))]
    ratios = [abs(value - row["value"]) / row["tolerance"] for value, row in zip(evidence.losses(), rows, strict=True)]
    worst = max(range(1, len(rows)), key=lambda step: ratios[step])
    check(
        next(filter(None, findings), None),
        measured=ratios[worst] * rows[worst]["tolerance"],
        tolerance=rows[worst]["tolerance"],
    )
