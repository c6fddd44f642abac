"""The stand-ins for Mamba's kernels compute what the step-by-step recurrence does, gradients included."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.selftest

_KERNELS = "fixtures.scenarios.state_space_kernels"
_FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
_SEEDS = st.integers(0, 2**31)
_TYPES = st.sampled_from(["float64", "float64", "float32", "bfloat16"])

_SCAN = {
    "batch": 2, "length": 13, "groups": 2, "each": 2, "p": 3, "n": 4, "chunk": 5, "D": "narrow", "z": True, "bias": True,
    "initial": True, "sequences": True, "limit": False, "softplus": True, "seed": 7, "dtype": "float64",
}  # fmt: skip


def _within(ratios):
    """Each difference is a share of what rounding may cause: 1 is the bound."""
    assert ratios
    assert {name: ratio for name, ratio in ratios.items() if not ratio <= 1.0} == {}


@_FEW
@given(
    st.fixed_dictionaries(
        {
            "batch": st.integers(1, 2),
            "length": st.integers(1, 23),
            "groups": st.integers(1, 3),
            "each": st.integers(1, 3),
            "p": st.integers(1, 4),
            "n": st.integers(1, 5),
            "chunk": st.integers(1, 25),
            "D": st.sampled_from([None, "narrow", "wide"]),
            "z": st.booleans(),
            "bias": st.booleans(),
            "initial": st.booleans(),
            "sequences": st.booleans(),
            "limit": st.booleans(),
            "softplus": st.booleans(),
            "seed": _SEEDS,
            "dtype": _TYPES,
        }
    )
)
@example(_SCAN)
@example({**_SCAN, "dtype": "bfloat16", "sequences": False})
def test_scan_in_chunks_equals_the_recurrence(gang_pool, case):
    _within(gang_pool.run(f"{_KERNELS}:scan_case", 1, case)[0])


@_FEW
@given(
    st.fixed_dictionaries(
        {
            "batch": st.integers(1, 3),
            "dim": st.integers(1, 6),
            "length": st.integers(1, 12),
            "width": st.integers(2, 4),
            "channel_last": st.booleans(),
            "sequences": st.booleans(),
            "bias": st.booleans(),
            "initial": st.booleans(),
            "activation": st.sampled_from([None, "silu", "swish"]),
            "seed": _SEEDS,
            "dtype": _TYPES,
        }
    )
)
def test_convolution_equals_the_recurrence(gang_pool, case):
    _within(gang_pool.run(f"{_KERNELS}:convolution_case", 1, case)[0])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("before_gate", [False, True])
@pytest.mark.parametrize(("groups", "z"), [(1, True), (3, True), (3, False)])
def test_gated_norm_equals_torchs_norm_group_by_group(gang_pool, groups, z, before_gate, dtype):
    case = {"groups": groups, "size": 4, "z": z, "before_gate": before_gate, "seed": 3, "dtype": dtype}
    _within(gang_pool.run(f"{_KERNELS}:norm_case", 1, case)[0])


@settings(_FEW, max_examples=20)
@given(
    st.fixed_dictionaries(
        {
            "length": st.integers(1, 11),
            "chunk": st.integers(1, 12),
            "sequences": st.booleans(),
            "initial": st.booleans(),
            "norm": st.booleans(),
            "before_gate": st.booleans(),
            "projection": st.booleans(),
            "wide_D": st.booleans(),
            "seed": _SEEDS,
        }
    )
)
def test_memory_efficient_path_equals_its_parts(gang_pool, case):
    _within(gang_pool.run(f"{_KERNELS}:fused_case", 1, case)[0])


def test_generation_token_by_token_equals_the_whole_sequence(gang_pool):
    found = gang_pool.run(f"{_KERNELS}:generation", 1, {})[0]
    # Values of size ten at most, sums of at most 9 * 5 terms in float64: less than a hundred roundings of 1e-15.
    assert {name: value for name, value in found.items() if not value < 1e-13} == {}
    assert len(found) == 11


def test_memory_efficient_path_keeps_its_arguments_and_its_result_only(gang_pool):
    found = gang_pool.run(f"{_KERNELS}:kept_bytes", 1, {})[0]
    assert found["kept"] == found["arguments and result"] > 0
