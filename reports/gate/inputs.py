"""From what a person names to one run: a file, a folder with a junit.xml, or several of them as parts of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.junit import UnusableReport, read
from reports.merging import Merged, merge


def load(paths: Sequence[Path], what: str) -> Merged:
    """Read the parts of a run and merge them.

    Raises:
        UnusableReport: one can't be used, or there is no test in any.
    """
    files = {file.resolve(): file for file in map(_file, paths)}  # named twice, a file counts once
    merged = merge([read(file) for file in files.values()])
    if not merged.run.results:
        raise UnusableReport(f"{paths[0]}: there is no test in the {what}: nothing to compare")
    return merged


def overlap(baseline: Merged, candidate: Merged) -> list[str]:
    """Return a note where the two runs can hardly be meant to be compared."""
    names = {result.name for result in baseline.run.results}
    if not any(result.name in names for result in candidate.run.results):
        return ["no test is in both runs: were they made with the same options?"]
    return []


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    if not (path / "junit.xml").is_file():
        raise UnusableReport(f"{path}: the folder has no junit.xml; name the file, or the folder of a run that ended")
    return path / "junit.xml"
