"""Packed sequences: several documents in one row, each cut into 2*cp chunks of its own, positions beginning with 0."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import LOCAL, STAND_IN, attention, degrees
from suites.context_parallel.test_attention import LOCAL_REFUSES, why_not

PACKED_REFUSES = "Packed sequence is not supported by DotProductAttention."
STAND_IN_REFUSES = "the stand-in attention does not take packed sequences"
# What a refusal of a cut of documents must name: without it nobody knows what to install.
CUT_REFUSES = "Transformer Engine"

# The stack makes cosine and sine in float32, each rounded once, of the same angle; each factor of a product twice over.
ANGLES_ROUND, FLOAT32_ROUNDOFF = 4, 2.0**-24


def packed_verdict(probe, ranks) -> verdicts.Verdict:
    """Judge what a layer says to packed documents."""
    what = f"packed: {probe.kind} by {probe.mechanism} on {probe.cp} ranks"
    if probe.mechanism == STAND_IN:
        verdict = verdicts.refusal(what, ranks, STAND_IN_REFUSES)
        return verdict if verdict.finding else verdicts.untested("the stand-in takes no packed sequences")
    if probe.mechanism != LOCAL:
        return verdicts.equality(what, ranks)
    return verdicts.refusal(what, ranks, LOCAL_REFUSES if probe.cp > 1 else PACKED_REFUSES)


def cut_verdict(probe, ranks, engine: bool) -> verdicts.Verdict:
    """Judge how a batch of documents is cut: as defined, or refused by naming what is missing."""
    if probe.cp > 1 and not engine:
        return verdicts.refusal("packed batch", ranks, CUT_REFUSES)
    if said := [found["raised"] for found in ranks if found["raised"] is not None]:
        return verdicts.Verdict(verdicts.WRONG, verdicts.short(said[0]), f"packed batch: raised {said[0]}")
    wrong = [rank for rank, found in enumerate(ranks) if found["positions"] != found["expected"]]
    if wrong:
        found = ranks[wrong[0]]
        finding = f"packed batch: rank {wrong[0]} has {found['positions']}, and should have {found['expected']}"
        return verdicts.Verdict(verdicts.WRONG, f"ranks {wrong}", finding, len(wrong), 0)
    return verdicts.Verdict(verdicts.WORKS, "each document by itself", None, 0, 0)


@pytest.mark.parametrize(
    "probe", [probe for probe in attention("packed") if not probe.engine or probe.cp == 1 or probe.way == "p2p"],
    ids=lambda probe: probe.id,
)  # fmt: skip
def test_cp_packed_attention(probe, ask, facts, row, check):
    """Packed documents are each what it is alone on one rank, or the stack says why not."""
    if reason := why_not(probe, facts):
        row(verdicts.untested(reason))
        pytest.skip(f"untested here: {reason}")
    ranks = ask(
        probe, "context_parallel_packed:attention", kind=probe.kind, mechanism=probe.mechanism, precision=probe.case.precision,
        communication=probe.way,
    )  # fmt: skip
    verdict = packed_verdict(probe, ranks)
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)


@pytest.mark.parametrize("probe", degrees("packed batch"), ids=lambda probe: probe.id)
def test_cp_packed_batch(probe, ask, facts, row, check):
    engine = "transformer-engine" in facts.versions and facts.gpus >= probe.cp
    verdict = cut_verdict(probe, ask(probe, "context_parallel_packed:batch"), engine)
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)


@pytest.mark.parametrize("probe", degrees("packed rotary"), ids=lambda probe: probe.id)
def test_cp_packed_rotary(probe, ask, row, check):
    """Rotated on a rank as each document is alone."""
    ranks = ask(probe, "context_parallel_order:packed_rotary")
    worst, size = (max(found[name] for found in ranks) for name in ("difference", "size"))
    tolerance = ANGLES_ROUND * FLOAT32_ROUNDOFF * size
    finding = worst > tolerance and f"{check.name}: documents are rotated by other angles than alone: {worst:.2g} apart"
    row(verdicts.Verdict(verdicts.WRONG, f"off by {worst:.2g}") if finding else verdicts.Verdict(verdicts.WORKS))
    check(finding, measured=worst, tolerance=tolerance)
