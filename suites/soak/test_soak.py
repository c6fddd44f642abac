"""A clean run of a random case raises no alarm: every ordinary check passes, or fails as a known issue says."""

import time

import pytest

from fixtures.plugin.soak import choice_of, file_of, seed_of
from fixtures.soak.draw import ROUND, case_of
from fixtures.soak.journal import Row, append
from fixtures.soak.shrink import command, shrink


def test_clean_case(number, soak, request, record_property):
    config = request.config
    if time.monotonic() - soak.started > config.getoption("--soak-seconds"):
        pytest.skip("the time of --soak-seconds is over; --soak-file goes on from here another time")
    case = case_of(seed_of(config), number, choice_of(config))
    soak.begin(number // ROUND)
    judged = soak.judge(case)
    again = command(case)
    row = Row(
        number, case.id, case.seed, case.architecture, case.precision, judged.checks,
        {check: text.splitlines()[0] for check, text in judged.alarms.items()}, judged.known, judged.worst,
        round(judged.seconds, 3), again if judged.alarms else "",
    )  # fmt: skip
    record_property("soak", row.to_json())
    record_property("soak_seed", seed_of(config))
    if config.getoption("--soak-file") is not None:
        append(file_of(config), row)
    if judged.alarms:
        names = set(judged.alarms)
        small = shrink(case, lambda other: bool(names & set(soak.judge(other).alarms)))
        told = "\n\n".join(judged.alarms.values())
        smaller = "" if small == case else f"\nsmallest case found with one of these:\n  {command(small)}"
        pytest.fail(f"{len(names)} false alarms, or a fault: repeat with\n  {again}{smaller}\n\n{told}", pytrace=False)
