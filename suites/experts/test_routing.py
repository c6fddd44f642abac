"""Every token goes to the experts that one rank sends it to, gets there, and comes back."""

from fixtures.oracle import traffic

# As for losses: the count of tokens that rounding sends elsewhere is one number with three samples.
SAFETY = 16


def _differing(evidence):
    """Return (tokens, margin, rank, layer, first) of each rank's layer with tokens that go elsewhere."""
    return [
        (found["differing"], found["margin"], rank, int(layer), found["first"])
        for rank, ranks in enumerate(evidence.ranks)
        for layer, found in ranks["experts"]["routing"].items()
        if found["differing"]
    ]


def test_routing(evidence, check):
    """Every token is sent to the same experts as on one rank. A tie that rounding decides otherwise is a finding too, named so:
    nothing after it can be compared.
    """
    reference = evidence.reference.numbers["routing"]
    differing = _differing(evidence)
    tokens = sum(row[0] for row in differing)
    coarse = evidence.case.precision == "bfloat16"
    allowed = SAFETY * reference["flips"] if coarse else 0
    decided = (
        f"smallest margin on one rank {reference['smallest_margin']:.3g}; rounding moves margins by {reference['moves']:.3g} "
        f"and {reference['flips']} of {reference['tokens']} choices; {reference['ties']} are ties"
    )
    finding = None
    if tokens > allowed:
        _, margin, rank, layer, (sample, position, here, there) = min(differing, key=lambda row: (row[3], row[2]))
        kind = "a tie, use another --seed" if margin <= reference["moves"] else "no tie: another choice than one rank's"
        finding = (
            f"{check.name}: {tokens} tokens go to other experts than on one rank, allowed {allowed}\n"
            f"  first: layer {layer}, sample {sample}, position {position}, on {evidence.where(rank)}: experts {here}, "
            f"one rank chooses {there}\n  largest margin of such a token {margin:.3g}: {kind}\n  {decided}"
        )
    check(finding, measured=tokens, tolerance=allowed)


def test_tokens_conserved(evidence, check):
    """No token is lost, doubled or exchanged on its way to the experts, and none is lost or doubled on its way back."""
    wrong = list(traffic.problems(evidence))
    check(wrong and f"{check.name}: {len(wrong)} problems\n  " + "\n  ".join(wrong[:6]))
