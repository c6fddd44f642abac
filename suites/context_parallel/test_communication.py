"""Where the configuration lists a way of communication for each layer, each layer is told its own."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import Probe

LISTED = ["p2p", "all_gather", "a2a", "p2p"]


def told_verdict(probe, ways, ranks) -> verdicts.Verdict:
    """Judge what the layers were told."""
    told = ranks[0]
    wrong = [number for number, (want, got) in enumerate(zip(ways, told, strict=True), 1) if want != got]
    if not wrong:
        return verdicts.Verdict(verdicts.WORKS, "each layer its own")
    lines = [f"layer {number} is told {verdicts.short(told[number - 1])}, and {ways[number - 1]} is listed" for number in wrong]
    return verdicts.Verdict(verdicts.WRONG, lines[0], f"{probe.topic}: " + "; ".join(lines))


@pytest.mark.parametrize(
    "probe", [Probe("cp_comm_type", cp, detail=form) for cp in (2, 4) for form in ("one for all", "one a layer")],
    ids=lambda probe: probe.id,
)  # fmt: skip
def test_cp_communication(probe, ask, row, check):
    one = probe.detail == "one for all"
    ranks = ask(probe, "context_parallel_communication:layers_told", ways="all_gather" if one else LISTED)
    verdict = told_verdict(probe, ["all_gather"] * len(LISTED) if one else LISTED, ranks)
    row(verdict)
    check(verdict.finding)
