"""What the stack says to an index that is damaged."""

import pytest

from fixtures.oracle import corpus
from suites.data import verdicts
from suites.data.damages import DAMAGES
from suites.data.reading import TEXT


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.id)
def test_index_damage(damage, told_of, check):
    """A damaged index is refused, in words that name the file."""
    told = told_of(damage)
    finding = verdicts.damage(told, damage.what, f"/{TEXT}")
    check(finding and f"{check.name}: {finding}")


def test_whole_index_is_read(told_of):
    """What the check of damaged files rests on: files that are not damaged are read, and right."""
    assert told_of(None) == {"raised": None, "wrong": 0}
    assert len(set(corpus.documents(TEXT))) > 1
