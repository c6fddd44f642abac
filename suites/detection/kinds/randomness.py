"""What ranks draw, or gradients under dropout with recomputation, with a fault planted, judged by the suite randomness."""

from __future__ import annotations

from typing import Any

from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, Planted, case_of, judged
from suites.judging import checks_of


class Randomness:
    """See :class:`suites.detection.kinds.base.Kind`. ``options``: ``check``, "streams" or "recompute"."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case, scenario = case_of(on, self.planted.seed), options["check"]
        params = {"layout": str(case.layout), "seed": case.seed, "case": case.to_json()}
        ranks = self.planted.ranks(entry, f"fixtures.scenarios.randomness:{scenario}", case.layout.world, params)
        return judged(
            checks_of(f"suites.randomness.test_{scenario}"),
            layout=str(case.layout),
            drawn=lambda _text: (case.layout, ranks),
            recomputed=lambda _text: ranks,
        )
