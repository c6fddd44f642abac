"""Which path of a Mamba layer is usable, and with which setting."""

import json

import pytest

from suites.state_space import verdicts


@pytest.mark.parametrize("name", ["causal-conv1d", "mamba-ssm", *(name for name, *_ in verdicts.PATHS)])
def test_verdict_on(rows, record_property, name):
    row = next(row for row in rows if row["library or path"] == name)
    record_property("table:state space paths", json.dumps(row))
    assert row["verdict"]
    assert row["setting"] or name in ("causal-conv1d", "mamba-ssm")


def test_a_path_is_usable(rows, check, record_property):
    said = verdicts.overall(rows)
    record_property("state_space_verdict", said.words)
    check(not said.usable and f"Mamba layers can't be trained here: {said.words}")
