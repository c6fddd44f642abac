"""Who is to blame for a hang, from hand-made ledgers."""

from __future__ import annotations

import pytest

from fixtures.cluster.attribution import blame, last_call, phase
from fixtures.cluster.ledger import COLLECTIVE, DONE, ENTERED, ISSUED, NOTE, RECEIVE, WAITING, Group, Ledger, Record

pytestmark = pytest.mark.selftest

WORLD = Group("0", (0, 1, 2, 3))
PAIR = Group("7", (0, 1), "TENSOR_MODEL_PARALLEL_GROUP")


def call(position, state=DONE, group=WORLD, op="all_reduce", shape=(4,), kind=COLLECTIVE, peer=-1, at=None):
    return {
        "kind": kind, "state": state, "op": op, "group": group, "dtype": "float32", "shape": shape, "position": position,
        "peer": peer, "entered": at,
    }  # fmt: skip


def note(text):
    return {
        "kind": NOTE,
        "state": DONE,
        "op": text,
        "group": None,
        "dtype": "",
        "shape": (),
        "position": 1,
        "peer": -1,
        "entered": None,
    }


def ledger(rank, *calls):
    records = []
    for number, fields in enumerate(calls, 1):
        entered = fields.pop("entered") or float(number)
        records.append(Record(sequence=number, entered=entered, changed=entered, **fields))
    return Ledger(rank, 4, 1, len(records), len(records), tuple(records))


def ledgers(*rows):
    return {rank: ledger(rank, *calls) for rank, calls in enumerate(rows)}


def test_the_rank_that_did_not_come_is_to_blame():
    found = blame(ledgers([call(1), call(2, ENTERED)], [call(1), call(2, WAITING)], [call(1)], [call(1), call(2, ENTERED)]))
    assert found.ranks == [2]
    assert found.sentence == "rank 2 did not enter all_reduce #2 of group [0, 1, 2, 3] (float32[4]); ranks 0, 1, 3 wait in it"
    assert set(found.waiting) == {0, 1, 3}


def test_blame_follows_the_chain_to_its_end():
    # 0 waits for 1 in the pair; 1 waits for 2 in the world; 2 computes.
    found = blame(
        ledgers([call(1, ENTERED, PAIR)], [call(1, ENTERED, WORLD)], [], [call(1, ENTERED, WORLD)]),
    )
    assert found.ranks == [2]


def test_different_operations_and_shapes_are_told_with_both_sides():
    shapes = blame(ledgers([call(1, ENTERED)], [call(1, ENTERED, shape=(8,))], [call(1, ENTERED)], [call(1, ENTERED)]))
    assert shapes.ranks == [1, 0]
    assert "rank 0 in all_reduce #1 of group [0, 1, 2, 3] (float32[4])" in shapes.sentence
    assert "rank 1 in all_reduce #1 of group [0, 1, 2, 3] (float32[8])" in shapes.sentence
    operations = blame(ledgers([call(1, ENTERED)], [call(1, ENTERED, op="broadcast")], [], []))
    assert "rank 1 in broadcast #1" in operations.sentence


def test_shapes_may_differ_where_the_operation_allows_it():
    found = blame(ledgers(*[[call(1, ENTERED, op="all_to_all_single", shape=(rank + 1,))] for rank in range(3)], []))
    assert found.ranks == [3]


def test_a_message_blames_the_peer():
    found = blame(ledgers([call(1, ENTERED, kind=RECEIVE, op="recv", peer=3)], [call(1)], [call(1)], [call(1)]))
    assert found.ranks == [3]
    assert "did not enter recv #1 from rank 3" in found.sentence


def test_nobody_in_a_collective_blames_all():
    found = blame(ledgers([call(1)], [call(1)], [], [call(1, ISSUED)]))
    assert found.ranks == [0, 1, 2, 3]
    assert found.sentence == "ranks 0, 1, 2, 3 made no progress outside of any collective"


def test_last_call_and_phase_leave_each_other_out():
    mine = ledger(0, note("step 0"), call(1), note("optimizer"))
    assert last_call(mine).position == 1
    assert phase(mine) == "optimizer"
    assert last_call(ledger(0)) is None
    assert phase(ledger(0)) == ""


def test_where_all_wait_the_one_in_another_phase_is_to_blame():
    # 0 and 1 wait for 2 and 3 in groups of two; 3 waits for 2 in a third one; 2 has gone on, and waits for all.
    left, right, last = Group("1", (0, 2)), Group("2", (1, 3)), Group("3", (2, 3))
    found = blame(
        ledgers(
            [note("step 0: forward and backward"), call(1, ENTERED, left)],
            [note("step 0: forward and backward"), call(1, ENTERED, right)],
            [note("step 0: optimizer"), call(1, ENTERED, WORLD)],
            [note("step 0: forward and backward"), call(1, ENTERED, last)],
        )
    )
    assert found.ranks == [2]
    assert found.sentence.startswith(
        "rank 2 is in another phase (step 0: optimizer) than the others (step 0: forward and backward), and all wait"
    )
