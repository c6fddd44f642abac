"""Loss masks over context parallel ranks: what a token weighs, by the definition of each mode."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import DEGREES, Probe

MODES = ("per token", "default", "averaged")
MASKS = ("prompts", "every fourth")
PROBES = [Probe("loss", cp, detail=f"{mode}, mask {mask}") for cp in DEGREES for mode in MODES for mask in MASKS]
# The smallest distance from one rank, in units of the largest gradient, that counts as a result that depends on the cut.
VISIBLE = 1e-3


def loss_verdict(probe, mode, mask, ranks) -> verdicts.Verdict:
    """Judge gradients and losses by the definition of the mode.

    "per token" and "averaged" promise the result of one rank. The default is documented as "assuming all tokens are
    non-padded": it is the mean over the ranks' own means, and that of one rank only where all ranks train on as many tokens.
    """
    uneven = len({tuple(found["trained"]) for found in ranks}) > 1
    if uneven != (mask == "prompts" and probe.cp > 1):
        finding = f"loss: mask {mask!r} leaves ranks {[found['trained'] for found in ranks]} tokens: nothing is shown by it"
        return verdicts.Verdict(verdicts.WRONG, "the mask", finding)
    verdict = verdicts.equality(f"loss: {mode}, mask {mask}, on {probe.cp} ranks", ranks)
    if verdict.finding is None and mode == "default" and uneven:
        distance = ranks[0]["from_one_rank"]
        if distance < VISIBLE:
            finding = f"loss: the default gives what one rank gives, up to {distance:.2g}, where its definition does not"
            return verdicts.Verdict(verdicts.WRONG, "the definition", finding)
        why = f"every rank's mean weighs the same: {distance:.0%} of the largest gradient away from one rank"
        return verdicts.Verdict(verdicts.DEPENDS, why, None, verdict.measured, verdict.tolerance)
    return verdict


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.id)
def test_cp_loss(probe, ask, row, check):
    mode, mask = probe.detail.split(", mask ")
    verdict = loss_verdict(probe, mode, mask, ask(probe, "context_parallel_loss:step", mode=mode, mask=mask))
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)
