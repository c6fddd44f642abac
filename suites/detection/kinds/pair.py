"""A checkpoint saved in one layout and loaded in another with a fault planted, judged by the suite checkpoint."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

from fixtures.layout import Layout
from fixtures.oracle.evidence import Evidence
from fixtures.oracle.reference import Reference
from fixtures.plugin.checkpoints import Checkpoints, Resharded, Saved
from fixtures.reshard import Reshard
from suites.detection.fault import Entry, On
from suites.detection.kinds.base import Findings, Planted, case_of, judged
from suites.judging import checks_of

_SCENARIO = "fixtures.scenarios.checkpoint"


class Pair:
    """See :class:`suites.detection.kinds.base.Kind`.

    ``options``: ``target``, the layout to load in; ``when``, "save" or "load", where the fault is planted; ``sharding``, of a
    distributed optimizer.
    """

    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self._checkpoints = Checkpoints(planted.runs, None)

    def findings(self, entry: Entry | None, on: On, options: dict[str, Any]) -> Findings:
        """See :class:`suites.detection.kinds.base.Kind`."""
        case = case_of(on, self.planted.seed)
        pair = Reshard(case, Layout.parse(options["target"]), options.get("sharding"))
        resharded = self._resharded(entry, pair, options["when"])
        checks = checks_of("suites.checkpoint.test_round_trip", "suites.checkpoint.test_resume")
        if not pair.same_layout:
            checks = {n: check for n, check in checks.items() if "same_pair" not in inspect.signature(check).parameters}
        return judged(checks, pair=pair, same_pair=pair, resharded=resharded)

    def _resharded(self, entry: Entry | None, pair: Reshard, when: str) -> Resharded:
        reference = self._checkpoints.reference(pair)
        with tempfile.TemporaryDirectory(prefix="saved-", dir=self._checkpoints.folder) as name:
            folder = Path(name)
            where = {"folder": str(folder / "checkpoint"), "snapshot": str(folder / "snapshot"), "fully_parallel": False}
            saved = self.planted.ranks(
                entry if when == "save" else None,
                f"{_SCENARIO}:save",
                pair.case.layout.world,
                {"case": pair.source_json(), "sharding": pair.sharding, "asynchronous": False, **where},
                Evidence(pair.case, [], Reference(reference)).where,
            )
            # New processes, in which nothing is left of what was saved.
            self.planted.pool.discard(pair.target.world)
            loaded = self.planted.ranks(
                entry if when == "load" else None,
                f"{_SCENARIO}:load",
                pair.target.world,
                {"case": pair.target_json(), "marks": "loaded", "reference": str(reference), **where},
                Evidence(pair.target_case, [], Reference(reference)).where,
            )
            return Resharded(pair, Saved(saved, folder, folder), Evidence(pair.target_case, loaded, Reference(reference)))
