"""The convolution of causal-conv1d and its gradients are right in every case, within what rounding can do."""

import pytest

from fixtures.state_space.cases import convolution_cases
from suites.state_space import verdicts


@pytest.fixture
def evidence(probe):
    """The evidence of all cases."""
    found = probe.convolution()
    if not found:
        pytest.skip("causal-conv1d does not load here")
    if "died" in found:
        pytest.fail(found["died"], pytrace=False)
    return found


@pytest.mark.parametrize("part", ["forward", "backward"])
@pytest.mark.parametrize("inputs", convolution_cases())
def test_convolution_agrees(evidence, check, inputs, part):
    row = evidence[inputs]
    check(verdicts.part_trouble(row, part), **verdicts.numbers(row, part))


def test_stride_rule_is_kept_or_refused(evidence, check):
    # The kernels on GPUs want strides that are multiples of 8. To refuse others by name is right, and so is to compute them.
    row = evidence["stride-rule"]
    refused = row["raised"] and "multiples of 8" in row["raised"]
    check(not refused and verdicts.trouble(row), **verdicts.numbers(row, "forward"))
