"""A text read through the stack's data path with a fault planted, judged by the suite data. A single rank reads without it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from suites.data import reading
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, Planted, case_of, judged
from suites.judging import checks_of

_SCENARIO = "fixtures.scenarios.data"


class Data:
    """See :class:`suites.detection.kinds.base.Kind`."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case = case_of(on, self.planted.seed)
        with tempfile.TemporaryDirectory(prefix="meshgate-detection-data-") as name:
            folder = Path(name)
            self.planted.ranks(None, f"{_SCENARIO}:write", 1, {"folder": name})
            single = reading.alone(lambda *call: self._ask(None, *call), case, folder)
            found = reading.read(lambda *call: self._ask(entry, *call), case, folder, single)
        return judged(checks_of("suites.data.test_samples"), reading=found)

    def _ask(self, entry: Entry | None, scenario: str, world: int, params: dict[str, Any]) -> list[dict[str, Any]]:
        return self.planted.ranks(entry, f"{_SCENARIO}:{scenario}", world, params)
