"""What is probed: attention kinds, mechanisms and degrees of context parallelism. Pure; pytest's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from fixtures.case import Case
from fixtures.layout import Layout

KINDS = {"MHA": "gpt-tied", "GQA": "llama", "MLA": "deepseek-v2-lite"}
DEGREES = (1, 2, 4)
LOCAL, STAND_IN, ENGINE = "local", "stand-in", "transformer engine"
WAYS = ("p2p", "all_gather", "a2a", "a2a+p2p")


@dataclass(frozen=True)
class Probe:
    """One question: ``topic`` of one kind of attention (or of none) by one mechanism on ``cp`` ranks."""

    topic: str
    cp: int
    kind: str = ""
    mechanism: str = ""
    detail: str = ""

    @property
    def case(self) -> Case:
        """A case for known issues to match: the architecture that the kind is taken from, on these ranks."""
        precision = "bfloat16" if self.engine else "float64"
        return Case(
            "megatron-core", KINDS.get(self.kind, "llama"), Layout.parse(f"cp{self.cp}"), precision, "adam", "gpt", 1234
        )

    @property
    def engine(self) -> bool:
        """Whether it needs Transformer Engine, on GPUs."""
        return self.mechanism.startswith(ENGINE)

    @property
    def way(self) -> str | None:
        """Transformer Engine's way of communication, as the stack's cp_comm_type names it."""
        return self.mechanism.removeprefix(ENGINE).strip() or None if self.engine else None

    @property
    def layout(self) -> str:
        """The degree, and what else is particular, for tables of checks."""
        return " ".join(part for part in (f"cp{self.cp}", self.topic, self.kind, self.mechanism, self.detail) if part)

    @property
    def id(self) -> str:
        """A stable id: ``cp2-attention-mla-transformer-engine-a2a``. No id of a mechanism is part of another's."""
        return self.layout.lower().replace("a2a+p2p", "hierarchical").replace(" ", "-").replace(",", "")

    @property
    def columns(self) -> dict[str, str]:
        """The cells that say what was asked."""
        return {"what": " ".join(filter(None, (self.topic, self.detail))), "attention": self.kind, "mechanism": self.mechanism}


def mechanisms(cp: int) -> list[str]:
    """Return the mechanisms; without context parallelism Transformer Engine has nothing to communicate.

    On 2 ranks a2a+p2p has no second level, and is a2a.
    """
    ways = [ENGINE] if cp == 1 else [f"{ENGINE} {way}" for way in WAYS if cp > 2 or way != "a2a+p2p"]
    return [LOCAL, STAND_IN, *ways]


def attention(topic: str) -> list[Probe]:
    """Return probes of all kinds by all mechanisms, those of one number of ranks next to each other."""
    return [Probe(topic, cp, kind, mechanism) for cp in DEGREES for kind in KINDS for mechanism in mechanisms(cp)]


def degrees(topic: str) -> list[Probe]:
    """Return probes of what has nothing to do with a kind of attention, one for each number of ranks."""
    return [Probe(topic, cp) for cp in DEGREES]
