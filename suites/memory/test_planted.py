"""Each check of memory fails for what it is for."""

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from suites.memory import test_memory as checks

CASES = {
    "parameter_twice": ("parameter_bytes", "bytes of parameters, its shards take"),
    "gradients_twice": ("gradient_bytes", "bytes of gradients, its shards take"),
    "moments_in_double": ("optimizer_bytes", "of optimizer state"),
    "activations_kept": ("microbatches_in_flight", "microbatches at one time, its stage needs 1"),
}


@pytest.mark.parametrize("optimizer", ["adam", "distributed"])
@pytest.mark.parametrize("fault", CASES)
def test_planted_fault_is_caught(gang_pool, fault, optimizer):
    name, words = CASES[fault]
    assert words in _findings(gang_pool, fault, "pp2dp2", optimizer)[name]


def test_planted_fault_in_an_interleaved_pipeline(gang_pool):
    findings = _findings(gang_pool, "activations_kept", "pp2dp2vpp2", "adam")
    # The first stage has all four passes in flight as it is; the last has three.
    assert findings == {
        "microbatches_in_flight": "microbatches_in_flight: rank 2 keeps the activations of 4 microbatches at one time, its "
        "stage needs 3; ranks that differ: [2, 3]"
    }


def _findings(gang_pool, fault, layout, optimizer):
    """Return what each check of memory says of a case with a fault."""
    case = Case("megatron-core", "llama", Layout.parse(layout), "float32", optimizer, "gpt", 1234)
    ranks = gang_pool.run("suites.memory.planted:run", 4, {"case": case.to_json(), "fault": fault})
    findings = {}

    def check(finding, measured=None, tolerance=None):
        if finding:
            findings[check.name] = str(finding)

    for check.name in ("parameter_bytes", "gradient_bytes", "optimizer_bytes", "microbatches_in_flight"):
        function = getattr(checks, f"test_{check.name}")
        more = [lambda *_: None] if check.name == "parameter_bytes" else []
        function(case, ranks, check, *more)
    return findings
