"""Layouts for tests: a Hypothesis strategy, and seeded random ones for tests that ask a stack."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from fixtures.layout import Layout

DEGREES = (1, 2, 3, 4, 8)


def divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


@st.composite
def layouts(draw) -> Layout:
    """Any valid layout of up to 4096 ranks, with experts, virtual stages and uneven pipelines."""
    tp, pp, cp, dp = (draw(st.sampled_from(DEGREES)) for _ in range(4))
    etp = draw(st.none() | st.sampled_from(divisors(tp * cp * dp)))
    ep = draw(st.sampled_from(divisors(tp * cp * dp // (etp or tp))))
    counts = st.lists(st.integers(1, 30), min_size=pp, max_size=pp).map(tuple)
    split = draw(st.none() | counts) if pp > 1 else None
    vpp = draw(st.sampled_from([None, 1, 2, 3])) if pp > 1 else None
    return Layout(tp, pp, cp, dp, ep, etp, vpp, split, draw(st.booleans()), draw(st.none() | st.integers(0, 3)))


def random_layouts(count: int, seed: int) -> list[Layout]:
    """Different layouts of at most 256 ranks, half of them with experts; the same for the same seed."""
    rng = random.Random(seed)
    found: dict[Layout, None] = {}
    while len(found) < count:
        tp, pp, cp, dp = (rng.choice(DEGREES) for _ in range(4))
        if tp * pp * cp * dp <= 256:
            etp = rng.choice([None, *divisors(tp * cp * dp)]) if rng.random() < 0.5 else None
            ep = rng.choice(divisors(tp * cp * dp // (etp or tp)))
            found[Layout(tp=tp, pp=pp, cp=cp, dp=dp, ep=ep, etp=etp)] = None
    return list(found)
