"""A damaged checkpoint ends in a clear error on all ranks, within seconds; the one before it still loads.

Each kind of damage is done to real files of a real checkpoint, on a small layout of its own, whatever --layout says.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fixtures.case import Case
from fixtures.cluster.failure import GangFailure
from fixtures.layout import Layout

# Seconds within which every rank must have raised. The stack's own loads take less than one.
PATIENCE = 15.0
KINDS = (
    "truncated-shard", "missing-shard", "swapped-shards", "flipped-bit", "missing-index", "missing-format", "missing-common",
    "other-architecture", "newer-format",
)  # fmt: skip
CASE = Case("megatron-core", "llama", Layout.parse("tp2dp2"), "float32", "adam", "gpt", 1234)


@dataclass(frozen=True)
class Damage:
    """A kind of damage.

    verified: with the checksums that newer versions of the stack write and check when asked to.
    parallel: loaded with the replicas of a shard sharing the reading, which takes collectives within data parallel groups.
    """

    kind: str
    verified: bool = False
    parallel: bool = False
    case: Case = CASE

    @property
    def label(self) -> str:
        return self.id.removeprefix("llama-").replace("-float32-adam-", " ")

    @property
    def id(self) -> str:
        return f"{self.case.id}-{'verified-' if self.verified else ''}{'parallel-' if self.parallel else ''}{self.kind}"


@dataclass(frozen=True)
class Outcome:
    """What each rank returned, or how the gang failed; the files that were hit."""

    ranks: list
    failure: GangFailure | None
    files: list
    previous: list


DAMAGES = [
    *(Damage(kind) for kind in KINDS),
    Damage("flipped-bit", verified=True),
    Damage("swapped-shards", verified=True),
    Damage("truncated-shard", parallel=True),
    Damage("missing-shard", parallel=True),
]


@pytest.fixture(scope="session")
def outcomes(checkpoint_store):
    """``outcomes(damage)`` runs a damage once."""
    known = {}

    def run(damage: Damage) -> Outcome:
        if damage not in known:
            try:
                known[damage] = _run(checkpoint_store, damage)
            except GangFailure as failure:
                known[damage] = failure
        if isinstance(known[damage], GangFailure):
            pytest.fail(f"the damage could not be prepared: {known[damage]}", pytrace=False)
        return known[damage]

    return run


def _run(store, damage: Damage) -> Outcome:
    architecture = "gpt-tied" if damage.kind == "other-architecture" else "llama"
    source = store.saved(architecture, damage.verified)
    previous = store.saved("llama", False)
    damaged = store.folder / damage.id
    hit = store.run("inject", 1, folder=str(source.checkpoint), damaged=str(damaged), damage=damage.kind)[0]["files"]
    snapshot = str(previous.snapshot)
    ranks, failure = [], None
    try:
        ranks = store.load(damaged, snapshot, damage.id, damage.verified, damage.parallel)
    except GangFailure as caught:
        failure = caught
    return Outcome(ranks, failure, hit, store.load(previous.checkpoint, snapshot, f"{damage.id}-previous", False))


@pytest.fixture
def outcome(damage, outcomes, checkpoint_store, record_property):
    """The outcome of a damage, or a skip where this version of the stack has nothing to damage."""
    for name, value in (("case", damage.id), ("layout", damage.label), ("architecture", "llama"),
                        ("precision", "float32"), ("optimizer", "adam"), ("model_class", "gpt"), ("seed", 1234)):  # fmt: skip
        record_property(name, value)
    if (refused := checkpoint_store.saved("llama", damage.verified).refused) is not None:
        assert refused.startswith("NotImplementedError"), refused
        pytest.skip("this version of the stack has no checksums of its own")
    found = outcomes(damage)
    if not found.files:
        pytest.skip(f"{damage.kind}: this version of the stack has no such file")
    return found


damages = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.id, scope="session")


@damages
def test_damage_refused(damage, outcome, check):
    """The stack does not train on from a damaged checkpoint as if nothing were wrong."""
    went_on = [rank for rank, found in enumerate(outcome.ranks) if found["refused"] is None]
    wrong = sum(found["wrong"] for found in outcome.ranks)
    what = f"{wrong} tensors are not what was saved" if wrong else "though every tensor is right"
    # Where one rank refuses, no step can follow; that the others don't know it is the next check's claim.
    accepted = wrong or (outcome.ranks and len(went_on) == len(outcome.ranks))
    check(
        accepted
        and f"{check.name}: {', '.join(outcome.files)} is damaged ({damage.kind.replace('-', ' ')}), and the checkpoint was "
        f"loaded as if nothing were wrong, on ranks {went_on}: {what}"
    )


@damages
def test_damage_seen_by_all(damage, outcome, check):
    """All ranks end alike and within seconds: none waits for another."""
    finding = None
    if outcome.failure is not None:
        finding = f"{check.name}: {damage.kind.replace('-', ' ')}: {outcome.failure}"
    else:
        slow = [rank for rank, found in enumerate(outcome.ranks) if found["seconds"] > PATIENCE]
        ends = {found["refused"] is None for found in outcome.ranks}
        if slow:
            finding = f"{check.name}: ranks {slow} took more than {PATIENCE:g} s"
        elif len(ends) > 1:
            finding = (
                f"{check.name}: {damage.kind.replace('-', ' ')}: "
                f"ranks {[rank for rank, found in enumerate(outcome.ranks) if found['refused']]} "
                "refuse, and the others train on alone, until they wait for them: "
                f"{next(found['refused'] for found in outcome.ranks if found['refused'])}"
            )
    slowest = max((found["seconds"] for found in outcome.ranks), default=PATIENCE)
    check(finding, measured=slowest, tolerance=PATIENCE)


@damages
def test_damage_named(damage, outcome, check):
    """What is said names the file and what to do: the error on every rank that refused, and the list of what is wrong."""
    texts = [found["refused"] for found in outcome.ranks if found["refused"]]
    texts.append("; ".join(outcome.ranks[0]["problems"]) if outcome.ranks else "")
    silent = [text for text in texts if not any(name in text for name in outcome.files) or "; " not in text]
    check(silent and f"{check.name}: {outcome.files} is not named with what to do in: {silent[0]!r}")


@damages
def test_previous_checkpoint_loads(damage, outcome, check):
    bad = [found for found in outcome.previous if found["refused"] or found["wrong"] or not found["compared"]]
    check(bad and f"{check.name}: the checkpoint before the damaged one does not load: {bad[0]}")
