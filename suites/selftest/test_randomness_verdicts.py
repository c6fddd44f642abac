"""Who must draw the same numbers and who must not, from numbers made by hand; and a check that must not be empty."""

import pytest

from fixtures.layout import Layout
from fixtures.plugin.narrowing import Judge
from suites.randomness import test_recompute, verdicts

LAYOUT = Layout.parse("tp2dp2ep2etp1")


def _ranks(**changes):
    """Return what each rank draws where all is right, and ``changes`` as {state: {rank: number}}."""
    result = []
    for rank in range(LAYOUT.world):
        at = LAYOUT.coordinates(rank)
        drawn = {
            name: [float(sum((n + 1) * at[axis] for n, axis in enumerate(axes)))] for name, axes in verdicts.STREAMS.items()
        }
        result.append({name: [changes.get(name, {}).get(rank, values[0])] for name, values in drawn.items()})
    return result


def test_states_that_are_right_are_no_finding():
    assert verdicts.streams_alike(LAYOUT, _ranks(), "c") is None
    assert verdicts.streams_apart(LAYOUT, _ranks(), "c") is None


@pytest.mark.parametrize(
    ("state", "rank", "axes"), [("default", 1, ("tp",)), ("data-parallel-rng", 2, ("dp",)), ("model-parallel-rng", 2, ("dp",))]
)
def test_other_numbers_of_ranks_that_hold_the_same(state, rank, axes):
    finding = verdicts.streams_alike(LAYOUT, _ranks(**{state: {rank: 9.0}}), "c")
    assert finding.axes == axes
    assert f"rank {rank} draws other numbers than rank 0 from the state {state}" in str(finding)


@pytest.mark.parametrize(
    ("state", "axes"), [("model-parallel-rng", ("tp",)), ("expert-parallel-rng", ("ep",))]
)  # fmt: skip
def test_the_same_numbers_of_ranks_that_hold_different_parts(state, axes):
    finding = verdicts.streams_apart(LAYOUT, _ranks(**{state: dict.fromkeys(range(4), 0.0)}), "c")
    assert finding.axes == axes
    assert f"from the state {state}" in str(finding)


@pytest.mark.parametrize(
    ("recomputed", "other", "says"),
    [(0.0, 0.5, None), (1e-9, 0.5, "differ by 1e-09"), (float("nan"), 0.5, "differ by nan"), (0.0, 0.0, "dropout is off")],
)
def test_dropout_that_is_off_shows_nothing(recomputed, other, says):
    judge = Judge("recompute_repeats_dropout")
    ranks = [{"recomputed": recomputed, "other_seed": other}]
    test_recompute.test_recompute_repeats_dropout("tp2", lambda _layout: ranks, judge)
    assert judge.finding is None if says is None else says in judge.finding
