"""From the samples that ranks got to a finding for each claim, or None. Pure: layouts and texts, no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fixtures.layout import Layout
from fixtures.oracle import corpus

Samples = list[str]
_SHOWN = 24  # characters of a sample in a finding


def replicas(layout: Layout) -> list[list[int]]:
    """Return the ranks of each replica of the model, by data parallel index: tp, cp and pp ranks, the first one first."""
    found: list[list[int]] = [[] for _ in range(layout.dp)]
    for rank in range(layout.world):
        found[layout.coordinates(rank)["dp"]].append(rank)
    return found


def of_replica(layout: Layout, ranks: Sequence[dict[str, Any]], read: int) -> list[list[Samples]]:
    """Return for each data parallel index the samples of each microbatch, as its first rank got them."""
    return [ranks[members[0]]["reads"][read] for members in replicas(layout)]


def order(layout: Layout, ranks: Sequence[dict[str, Any]], read: int) -> Samples:
    """Return the samples in the order of the data: microbatch after microbatch, in each from the first replica to the last."""
    return [sample for batches in zip(*of_replica(layout, ranks, read), strict=True) for batch in batches for sample in batch]


def replicas_differ(layout: Layout, ranks: Sequence[dict[str, Any]], read: int) -> str | None:
    """Judge that the ranks of a replica got the same samples, those between the ends of a pipeline none."""
    for dp, members in enumerate(replicas(layout)):
        right = [[corpus.digest(sample) for sample in batch] for batch in ranks[members[0]]["reads"][read]]
        if not any(right):
            return f"rank {members[0]} ({_where(layout, members[0])}) got no samples"
        for rank in members[1:]:
            got, stage = ranks[rank]["reads"][read], layout.coordinates(rank)["pp"]
            if 0 < stage < layout.pp - 1:
                if any(batch is not None for batch in got):
                    return f"rank {rank} ({_where(layout, rank)}) got samples, and stage {stage} needs none"
            elif got != right:
                batch = next((n for n, pair in enumerate(zip(got, right, strict=False)) if pair[0] != pair[1]), len(right))
                return (
                    f"rank {rank} ({_where(layout, rank)}) got other samples than rank {members[0]} of the same replica "
                    f"dp{dp}, from microbatch {batch} on: they differ along {_axes(layout, members[0], rank)}"
                )
    return None


def shared(layout: Layout, ranks: Sequence[dict[str, Any]], read: int) -> str | None:
    """Judge that no sample goes to two data parallel ranks."""
    owner: dict[str, int] = {}
    twice: Counter[tuple[int, int]] = Counter()
    for dp, batches in enumerate(of_replica(layout, ranks, read)):
        for sample in {sample for batch in batches for sample in batch}:
            first = owner.setdefault(sample, dp)
            if first != dp:
                twice[first, dp] += 1
    if not twice:
        return None
    (first, second), count = twice.most_common(1)[0]
    return f"replicas dp{first} and dp{second} train on {count} samples of which each should be with one of them"


def epoch(samples: Samples, documents: Sequence[str]) -> str | None:
    """Judge that an epoch has every sample, each once, and in them every byte of the text."""
    again = [(sample, count) for sample, count in Counter(samples).items() if count > 1]
    if again:
        sample, count = again[0]
        return f"{len(again)} samples come more than once, {sample[:_SHOWN]!r}... {count} times in {len(samples)}"
    if len(samples) != corpus.SAMPLES:
        return f"{len(samples)} samples were read, the text has {corpus.SAMPLES}"
    odd = [sample for sample in samples if len(sample) != corpus.SEQUENCE + 1]
    if odd:
        return f"{len(odd)} samples are no {corpus.SEQUENCE} tokens and a label: {odd[0][:_SHOWN]!r}..."
    # Inputs of an epoch are the whole text but for its last token, an end of a document, which is only a label.
    right = Counter("".join(documents))
    right[corpus.END] -= 1
    read = Counter("".join(sample[:-1] for sample in samples))
    off = {byte: (read[byte], right[byte]) for byte in sorted({*read, *right}) if read[byte] != right[byte]}
    if off:
        byte, (got, wanted) = next(iter(off.items()))
        return f"{len(off)} kinds of bytes are not as often in the samples as in the text: {byte!r} {got} times, not {wanted}"
    return None


def other_order(got: Samples, right: Samples, what: str) -> str | None:
    """Judge that samples come in the right order."""
    if got == right:
        return None
    place = next((n for n, pair in enumerate(zip(got, right, strict=False)) if pair[0] != pair[1]), min(len(got), len(right)))
    if place == len(right) or place == len(got):
        return f"{len(got)} samples come {what}, and should be {len(right)}"
    known = right.index(got[place]) if got[place] in right else None
    instead = "one that is not among them" if known is None else f"sample {known} of these"
    return f"{what}, sample {place} of {len(right)} should be {right[place][:_SHOWN]!r}..., and is {instead}"


def blend(samples: Samples, weights: dict[str, float]) -> str | None:
    """Judge that corpora keep their weights from the first sample to each later one.

    The stack gives each sample to the corpus that is furthest behind its share (build_blending_indices in helpers.cpp). What
    is behind by most is behind by a positive number, so that none gets more than one sample ahead; since all numbers add up
    to one at the most, none falls further behind than there are others.
    """
    counts = dict.fromkeys(weights, 0)
    for number, sample in enumerate(samples, 1):
        name = corpus.source(sample)
        if name not in counts:
            return f"sample {number - 1} is of {name or 'no one corpus'}, and the blend is of {', '.join(weights)}"
        counts[name] += 1
        for other, weight in weights.items():
            ahead = counts[other] - weight * number
            if not -(len(weights) - 1) <= ahead <= 1:
                return (
                    f"of the first {number} samples {counts[other]} are of {other}, whose weight {weight:g} makes it "
                    f"{weight * number:.1f}; all {len(samples)}: {_shares(samples)}"
                )
    return None


def damage(told: dict[str, Any], what: str, prefix: str) -> str | None:
    """Judge that damaged files are refused, in words that name them."""
    if told["raised"] is None:
        return f"{what} is read without an error; {told['wrong']} of {corpus.SAMPLES} samples are wrong"
    if prefix not in told["raised"]:
        return f"{what} is refused with {told['raised'].splitlines()[0]!r}, which names no file"
    return None


def _shares(samples: Samples) -> str:
    return ", ".join(f"{name} {count / len(samples):.2f}" for name, count in Counter(map(corpus.source, samples)).items())


def _where(layout: Layout, rank: int) -> str:
    at = layout.coordinates(rank)
    return " ".join(f"{axis}{at[axis]}" for axis in ("tp", "cp", "dp", "pp") if getattr(layout, axis) > 1) or "the only one"


def _axes(layout: Layout, first: int, rank: int) -> str:
    here, there = layout.coordinates(first), layout.coordinates(rank)
    return " and ".join(axis for axis in ("tp", "cp", "pp") if here[axis] != there[axis])
