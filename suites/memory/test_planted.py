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
    case = Case("megatron-core", "llama", Layout.parse("pp2dp2"), "float32", optimizer, "gpt", 1234)
    ranks = gang_pool.run("suites.memory.planted:run", 4, {"case": case.to_json(), "fault": fault})
    name, words = CASES[fault]
    findings = {}

    def check(finding, measured=None, tolerance=None):
        if finding:
            findings[check.name] = str(finding)

    for check.name in ("parameter_bytes", "gradient_bytes", "optimizer_bytes", "microbatches_in_flight"):
        function = getattr(checks, f"test_{check.name}")
        more = [lambda *_: None] if check.name == "parameter_bytes" else []
        function(case, ranks, check, *more)
    assert words in findings[name]
