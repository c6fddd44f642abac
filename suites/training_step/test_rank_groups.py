"""The stack builds the groups that the layout means, and leaves nothing behind."""


def test_rank_groups(evidence, check):
    """On every rank, each axis has the ranks that the layout says, in its order."""
    layout = evidence.case.layout
    groups = layout.rank_groups()
    wrong = [
        f"{axis} of {evidence.where(rank)}: the stack has {ranks}, the layout means {expected}"
        for rank, found in enumerate(evidence.ranks)
        for axis, ranks in found["groups"].items()
        for expected in [next(group for group in groups[axis] if rank in group)]
        if ranks != expected
    ]
    check(wrong and f"{check.name}: " + "\n  ".join(wrong[:4]))
