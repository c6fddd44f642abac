"""Which path of a Mamba layer is usable, and with which setting."""

import json

import pytest

from suites.state_space import verdicts


@pytest.mark.parametrize("name", ["causal-conv1d", "mamba-ssm", *(name for name, *_ in verdicts.PATHS), verdicts.ALL])
def test_verdict_on(rows, record_property, name):
    row = next(row for row in rows if row["library or path"] == name)
    record_property("table:state space paths", json.dumps(row))
    assert row["verdict"]
    assert bool(row["setting"]) == (name in [path for path, *_ in verdicts.PATHS])


def test_a_path_is_usable(rows, check):
    said = verdicts.overall(rows)
    check(not said.usable and f"Mamba layers can't be trained here: {said.words}")
