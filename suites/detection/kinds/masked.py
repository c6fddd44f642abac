"""A step with a loss mask on context parallel ranks with a fault planted, judged by the suite context_parallel."""

from __future__ import annotations

from typing import Any

from suites.context_parallel.probes import Probe
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, Planted, case_of, judged
from suites.judging import checks_of


class Masked:
    """See :class:`suites.detection.kinds.base.Kind`. ``options``: ``mode`` and ``mask``, as in the suite."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        probe = Probe("loss", case_of(on, 0).layout.cp, detail=f"{options['mode']}, mask {options['mask']}")

        def ask(_probe: Probe, scenario: str, **params: Any) -> list[Any]:
            return self.planted.ranks(entry, f"fixtures.scenarios.{scenario}", probe.cp, {"seed": self.planted.seed, **params})

        return judged(checks_of("suites.context_parallel.test_loss"), probe=probe, ask=ask, row=lambda _verdict: None)
