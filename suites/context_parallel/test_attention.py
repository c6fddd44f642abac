"""Attention over context parallel ranks equals attention on one rank, or the stack says why not."""

import pytest

from suites.context_parallel import verdicts
from suites.context_parallel.probes import LOCAL, attention

LOCAL_REFUSES = "Context parallelism is only supported by TEDotProductAttention!"


def why_not(probe, facts) -> str | None:
    """Say why a probe can't be tried here, or None."""
    if not probe.engine:
        return None
    if "transformer-engine" not in facts.versions:
        return "Transformer Engine is not installed where the ranks run"
    if facts.gpus < probe.cp:
        return f"Transformer Engine's attention needs {probe.cp} GPUs, and there are {facts.gpus}"
    return None


def judged(probe, ranks) -> verdicts.Verdict:
    """Return the verdict on a probe's ranks."""
    what = f"attention: {probe.kind} by {probe.mechanism} on {probe.cp} ranks"
    if probe.mechanism == LOCAL and probe.cp > 1:
        return verdicts.refusal(what, ranks, LOCAL_REFUSES)
    return verdicts.equality(what, ranks)


@pytest.mark.parametrize("probe", attention("attention"), ids=lambda probe: probe.id)
def test_cp_attention(probe, ask, facts, row, check):
    """Output and gradients of input and weights are those of one rank with the whole sequence."""
    if reason := why_not(probe, facts):
        row(verdicts.untested(reason))
        pytest.skip(f"untested here: {reason}")
    found = ask(
        probe, "context_parallel:attention", kind=probe.kind, mechanism=probe.mechanism, precision=probe.case.precision,
        communication=probe.way,
    )  # fmt: skip
    verdict = judged(probe, found)
    row(verdict)
    check(verdict.finding, measured=verdict.measured, tolerance=verdict.tolerance)
