"""Which tokens a rank has, and the positions that go with them: chunks r and 2*cp-1-r of 2*cp, asked of the stack itself."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import Probe, degrees


def batch_verdict(probe, ranks) -> verdicts.Verdict:
    """Judge how the stack cuts a batch."""
    wrong = {rank: found for rank, found in enumerate(ranks) if found["wrong"]}
    if not wrong:
        return verdicts.Verdict(verdicts.WORKS, "tokens, labels, loss mask, positions and attention mask", None, 0, 0)
    rank, found = next(iter(wrong.items()))
    finding = (
        f"{probe.topic}: {', '.join(found['wrong'])} of ranks {list(wrong)} are not chunks r and 2*cp-1-r\n"
        f"  rank {rank} has positions {found['positions']}, and should have {found['expected']}"
    )
    return verdicts.Verdict(verdicts.WRONG, ", ".join(found["wrong"]), finding, len(wrong), 0)


def angles_verdict(probe, ranks) -> verdicts.Verdict:
    """Judge rotary angles, which must be those of the rank's tokens to the last bit: they are made by the same operations."""
    worst = max((difference, name, rank) for rank, found in enumerate(ranks) for name, difference in found.items())
    if worst[0] == 0:
        return verdicts.Verdict(verdicts.WORKS, ", ".join(ranks[0]), None, 0, 0)
    finding = f"{probe.topic}: {worst[1]} on rank {worst[2]} differs by {worst[0]:.2g} from the angles of the rank's tokens"
    return verdicts.Verdict(verdicts.WRONG, f"{worst[1]} off by {worst[0]:.2g}", finding, worst[0], 0)


@pytest.mark.parametrize("probe", degrees("token order"), ids=lambda probe: probe.id)
def test_cp_token_order(probe, ask, row, check):
    verdict = batch_verdict(probe, ask(probe, "context_parallel_order:batch"))
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)


@pytest.mark.parametrize("probe", degrees("rotary positions"), ids=lambda probe: probe.id)
def test_cp_rotary_positions(probe, ask, row, check):
    verdict = angles_verdict(probe, ask(probe, "context_parallel_order:rotary"))
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)


@pytest.mark.parametrize("probe", [Probe("hierarchical groups", cp) for cp in (2, 4)], ids=lambda probe: probe.id)
def test_cp_hierarchical_groups(probe, ask, row, check):
    """For a2a+p2p: pairs of neighbours, and across them the ranks with the same place in their pair."""
    found = ask(probe, "context_parallel_communication:hierarchy", sizes=[2, probe.cp // 2])
    right = [[[rank - rank % 2, rank - rank % 2 + 1], list(range(rank % 2, probe.cp, 2))] for rank in range(probe.cp)]
    wrong = [rank for rank in range(probe.cp) if found[rank] != right[rank]]
    finding = wrong and f"{check.name}: ranks {wrong}: {found[wrong[0]]}, expected {right[wrong[0]]}"
    row(verdicts.Verdict(verdicts.WRONG, f"ranks {wrong}") if wrong else verdicts.Verdict(verdicts.WORKS, "two levels"))
    check(finding)
