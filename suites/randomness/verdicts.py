"""Do the random states of ranks agree where they must, and differ where they must? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fixtures.layout import Layout
from fixtures.oracle.diagnose import Finding

# The stack's names. Each state differs along these axes and along no other: megatron.core.tensor_parallel.random says so of
# model_parallel_cuda_manual_seed.
STREAMS = {
    "default": (),
    "data-parallel-rng": (),
    "model-parallel-rng": ("tp",),
    "expert-parallel-rng": ("ep", "etp"),
}


def streams_alike(layout: Layout, ranks: Sequence[Mapping[str, Sequence[float]]], check: str) -> Finding | None:
    """Return a finding on ranks that must draw the same numbers and do not: masks of replicas then differ."""
    for name, axes in STREAMS.items():
        first: dict[tuple[int, ...], int] = {}
        for rank, drawn in enumerate(ranks):
            at = layout.coordinates(rank)
            peer = first.setdefault(tuple(at[axis] for axis in axes), rank)
            if drawn[name] != ranks[peer][name]:
                apart = tuple(axis for axis in ("tp", "cp", "dp", "pp") if at[axis] != layout.coordinates(peer)[axis])
                return Finding(
                    check,
                    f"rank {rank} draws other numbers than rank {peer} from the state {name}",
                    axes=apart,
                    lines=(f"they differ in {' and '.join(apart)}; dropout of what both hold is another on each of them",),
                )
    return None


def streams_apart(layout: Layout, ranks: Sequence[Mapping[str, Sequence[float]]], check: str) -> Finding | None:
    """Return a finding on ranks that must draw different numbers and draw the same: parts of a tensor get one mask."""
    for name, axes in STREAMS.items():
        if not axes:
            continue
        seen: dict[tuple[float, ...], tuple[int, tuple[int, ...]]] = {}
        for rank, drawn in enumerate(ranks):
            at = layout.coordinates(rank)
            place = tuple(at[axis] for axis in axes)
            peer, theirs = seen.setdefault(tuple(drawn[name]), (rank, place))
            if theirs != place:
                apart = tuple(axis for axis, mine, other in zip(axes, place, theirs, strict=True) if mine != other)
                return Finding(
                    check,
                    f"rank {rank} draws the same numbers as rank {peer} from the state {name}",
                    axes=apart,
                    lines=(f"they hold different parts along {' and '.join(apart)}, and dropout of both is the same",),
                )
    return None
