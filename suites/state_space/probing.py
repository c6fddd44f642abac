"""The controller's side of the probe: what the ranks found out, once for each pool of gangs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fixtures.cluster.failure import GangFailure
from fixtures.cluster.pool import GangPool
from fixtures.state_space import cases

# What ranks import before they are forked: not the probe itself, so that what it imports is imported in the rank.
PRELOAD = ["fixtures.device.activate", "fixtures.cluster.recording_on", "fixtures.stacks.megatron", "fixtures.cluster.rank"]

DTYPES = ("float64", "float32", "bfloat16")
ON_GPUS = ("float32", "bfloat16")


def pool_with(python: str, folders: Sequence[Path], run_dir: Path, rank_timeout: float) -> GangPool:
    """Return a pool whose ranks look for packages in ``folders`` first."""
    inherited = os.environ.get("PYTHONPATH")
    checkout = str(Path(__file__).parents[2])
    path = [*map(str, folders), checkout, *([inherited] if inherited else [])]
    env = {"PYTHONPATH": os.pathsep.join(path)}
    return GangPool(python=python, preload=PRELOAD, run_dir=run_dir, rank_timeout=rank_timeout, env=env)


class Probe:
    """Evidence from one pool, each kind asked for once. What ends a rank is evidence: ``{"died": first line}``.

    ``quick`` asks for float32 only, and for no long sequences. ``fresh`` says that packages were changed under the pool.
    """

    def __init__(self, pool: GangPool, seed: int = 1234, *, quick: bool = False, fresh: bool = False) -> None:
        self._pool, self._seed, self._quick, self._fresh = pool, seed, quick, fresh
        self._found: dict[str, Any] = {}

    def _ask(self, function: str, params: dict[str, Any]) -> Any:
        if function not in self._found:
            try:
                self._found[function] = self._pool.run(f"fixtures.scenarios.state_space:{function}", 1, params)[0]
            except GangFailure as failure:
                self._found[function] = {"died": failure.summary}
        return self._found[function]

    def libraries(self) -> dict[str, Any]:
        """Return what is installed, loads, and is asked for."""
        return self._ask("libraries", {"fresh": self._fresh})

    def _some(self, every: dict[str, Any]) -> dict[str, Any]:
        if not self._quick:
            return every
        return {name: case for name, case in every.items() if case["dtype"] == "float32" and case["length"] < 100}

    def _loads(self, name: str) -> bool:
        facts = self.libraries()
        return "died" not in facts and facts[name]["installed"] and facts[name]["error"] is None

    def convolution(self) -> dict[str, Any]:
        """Return the evidence of each case of causal-conv1d; none where it does not load."""
        everything = {**self._some(cases.convolution_cases()), "stride-rule": cases.STRIDE_RULE}
        return self._ask("convolution", {"cases": everything}) if self._loads("causal-conv1d") else {}

    def scan(self) -> dict[str, Any]:
        """Return the evidence of each case of mamba-ssm; none where it does not load."""
        return self._ask("selective_state_space", {"cases": self._some(cases.scan_cases())}) if self._loads("mamba-ssm") else {}

    def mixer(self) -> dict[str, Any]:
        """Return the evidence of both paths of the whole layer, by type."""
        return self._ask("mixer", {"dtypes": self.dtypes(), "seed": self._seed})

    def dtypes(self) -> list[str]:
        """Return the types in which the layer runs: kernels on GPUs know no float64."""
        if self._quick:
            return ["float32"]
        facts = self.libraries()
        return list(ON_GPUS if "cuda" in facts.get("device", "") else DTYPES)
