"""Packed sequences: several documents in one row, each cut into 2*cp chunks of its own, positions beginning with 0."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import LOCAL, STAND_IN, attention, degrees
from suites.context_parallel.test_attention import LOCAL_REFUSES, why_not

PACKED_REFUSES = "Packed sequence is not supported by DotProductAttention."
STAND_IN_REFUSES = "the stand-in attention does not take packed sequences"
# What a refusal of a cut of documents must name: without it nobody knows what to install.
CUT_REFUSES = "Transformer Engine"


def packed_verdict(probe, ranks) -> verdicts.Verdict:
    """Judge what a layer says to packed documents."""
    what = f"packed: {probe.kind} by {probe.mechanism} on {probe.cp} ranks"
    if probe.mechanism == STAND_IN:
        verdict = verdicts.refusal(what, ranks, STAND_IN_REFUSES)
        return verdict if verdict.finding else verdicts.untested("the stand-in takes no packed sequences")
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
    if probe.engine:
        reason = why_not(probe, facts) or "a comparison of packed sequences by Transformer Engine is not written yet"
        row(verdicts.untested(reason))
        pytest.skip(f"untested here: {reason}")
    ranks = ask(
        probe, "context_parallel_packed:attention", kind=probe.kind, mechanism=probe.mechanism, precision=probe.case.precision
    )
    verdict = packed_verdict(probe, ranks)
    row(verdict)
    check(verdict.finding)
    if probe.mechanism == LOCAL:
        assert verdict.word == verdicts.REFUSES


@pytest.mark.parametrize("probe", degrees("packed batch"), ids=lambda probe: probe.id)
def test_cp_packed_batch(probe, ask, facts, row, check):
    engine = "transformer-engine" in facts.versions and facts.gpus >= probe.cp
    verdict = cut_verdict(probe, ask(probe, "context_parallel_packed:batch"), engine)
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)


@pytest.mark.parametrize("probe", degrees("packed rotary"), ids=lambda probe: probe.id)
def test_cp_packed_rotary(probe, ask, row, check):
    """Rotated on a rank as each document is alone, to the last bit: it is the same product of the same numbers."""
    worst = max(found["difference"] for found in ask(probe, "context_parallel_order:packed_rotary"))
    finding = worst > 0 and f"{check.name}: rotated documents differ by {worst:.2g} from each of them alone on one rank"
    row(verdicts.Verdict(verdicts.WRONG, f"off by {worst:.2g}") if finding else verdicts.Verdict(verdicts.WORKS, "exact"))
    check(finding, measured=worst, tolerance=0)
