"""The whole Mamba layer computes the same on every path: memory-efficient or not, with causal-conv1d or without."""

import pytest

from suites.state_space import verdicts
from suites.state_space.probing import DTYPES


@pytest.mark.parametrize("part", ["forward", "backward"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("path", ["memory-efficient", "chunk scan"])
@pytest.mark.parametrize("convolution", ["with causal-conv1d", "without causal-conv1d"])
def test_layer_agrees(probe, probe_without, check, convolution, path, dtype, part):
    where = probe if convolution.startswith("with ") else probe_without
    if dtype not in where.dtypes():
        pytest.skip("kernels on GPUs know no float64")
    found = where.mixer()
    if "died" in found:
        pytest.fail(found["died"], pytrace=False)
    row = found[dtype][path]
    if where is probe_without and path == "memory-efficient" and row["raised"]:
        pytest.skip(f"mamba-ssm does not run this path without causal-conv1d: {row['raised']}")
    check(verdicts.part_trouble(row, part), **verdicts.numbers(row, part))
