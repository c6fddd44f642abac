"""From what the ranks found to a word for the table, and a finding for the check. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WORKS, REFUSES, WRONG, UNTESTED, DEPENDS = "works", "refuses", "wrong", "untested here", "depends on the cut"


@dataclass(frozen=True)
class Verdict:
    """A word for the table and its reason; ``finding`` is None where the check passes, or says what is wrong."""

    word: str
    why: str = ""
    finding: str | None = None
    measured: float | None = None
    tolerance: float | None = None


def untested(why: str) -> Verdict:
    """Return the verdict on what can't be tried here."""
    return Verdict(UNTESTED, why)


def short(raised: str) -> str:
    """Return the stack's own words without what its builder appends to them, and without lines of advice after the first."""
    return raised.splitlines()[0].split(" when instantiating ")[0]


def refusal(what: str, ranks: list[dict[str, Any]], words: str) -> Verdict:
    """Judge what the stack should refuse on every rank, in these words."""
    said = [found["raised"] for found in ranks]
    running = [rank for rank, text in enumerate(said) if text is None]
    if running:
        finding = f"{what}: ranks {running} run, where the stack refuses with {words!r}; if it works now, say so in the probe"
        return Verdict(WRONG, f"runs where it should refuse with {words!r}", finding)
    other = [text for text in said if words not in text]
    if other:
        return Verdict(WRONG, short(other[0]), f"{what}: {short(other[0])}, where a refusal with {words!r} was expected")
    return Verdict(REFUSES, short(said[0]))


def equality(what: str, ranks: list[dict[str, Any]]) -> Verdict:
    """Judge tensors that should be those of one rank: the worst of all ranks, in units of its tolerance."""
    if said := [found["raised"] for found in ranks if found["raised"] is not None]:
        return Verdict(WRONG, short(said[0]), f"{what}: raised {said[0].splitlines()[0]}")
    compared = [(rank, name, cell) for rank, found in enumerate(ranks) for name, cell in found["tensors"].items()]
    if not compared:
        return Verdict(WRONG, "nothing was compared", f"{what}: nothing was compared")
    rank, name, worst = max(compared, key=lambda entry: _used(entry[2]))
    off = list(dict.fromkeys(name for _, name, cell in compared if not _used(cell) <= 1.0))
    numbers = {"measured": worst["measured"], "tolerance": worst["tolerance"]}
    if not off:
        return Verdict(WORKS, f"err/tol {_used(worst):.2g} ({name})", None, **numbers)
    exact = [name for name in dict.fromkeys(name for _, name, _ in compared) if name not in off]
    finding = (
        f"{what}: {name} differs from one rank by {worst['measured']:.2g} on rank {rank}, {_used(worst):.2g} times its "
        f"tolerance; its largest element is {worst['size']:.2g}\n  off: {', '.join(off)}\n  right: {', '.join(exact) or 'none'}"
    )
    return Verdict(WRONG, f"{name} off by {worst['measured']:.2g}", finding, **numbers)


def _used(cell: dict[str, float]) -> float:
    return cell["measured"] / cell["tolerance"] if cell["tolerance"] else float("inf") if cell["measured"] else 0.0
