"""Scan, gated norm and memory-efficient path of mamba-ssm and their gradients are right in every case."""

import pytest

from fixtures.state_space.cases import scan_cases
from suites.state_space import verdicts


@pytest.mark.parametrize("part", ["forward", "backward"])
@pytest.mark.parametrize("inputs", scan_cases())
def test_state_space_agrees(probe, check, inputs, part):
    found = probe.scan()
    if not found:
        pytest.skip("mamba-ssm does not load here")
    if "died" in found:
        pytest.fail(found["died"], pytrace=False)
    check(verdicts.part_trouble(found[inputs], part), **verdicts.numbers(found[inputs], part))
