"""Random clean cases: one test a case, those of a round one after the other on one worker."""

import time

import pytest

from fixtures.plugin.known import expected_of
from fixtures.plugin.soak import done_of, numbers_of
from fixtures.soak.draw import ROUND
from suites.soak.judging import judge


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes ``number`` the numbers of the cases; they are drawn when they run."""
    if "number" in metafunc.fixturenames:
        numbers = [
            pytest.param(number, id=f"{number:04}", marks=pytest.mark.xdist_group(f"soak-{number // ROUND}"))
            for number in numbers_of(metafunc.config)
        ]
        metafunc.parametrize("number", numbers)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and leave out the cases that --soak-file has."""
    done = []
    for item in items:
        if "suites/soak/" in item.nodeid:
            item.add_marker(pytest.mark.soak)
            if config.getoption("--soak-file") is not None and item.callspec.params["number"] in done_of(config):
                done.append(item)
    if done:
        config.hook.pytest_deselected(items=done)
        gone = {id(item) for item in done}
        items[:] = [item for item in items if id(item) not in gone]


class Soak:
    """The cases that run in this process: what they share, and how long they may take."""

    def __init__(self, runs, expected):
        self.runs, self.expected, self.started, self._round, self._folders = runs, expected, time.monotonic(), None, set()

    def judge(self, case):
        """Return what the ordinary checks of a case say."""
        return judge(case, self._run, self.expected)

    def begin(self, round_):
        """Drop the references of the round before: each is several MiB, and no other case needs them."""
        if round_ != self._round:
            self._round = round_
            self.close()

    def _run(self, case):
        self._folders.add(self.runs.folder_of(case))
        return self.runs.run(case)

    def close(self):
        """Remove the references that are there."""
        for folder in self._folders:
            self.runs.forget(folder)
        self._folders.clear()


@pytest.fixture(scope="session")
def soak(request, runs):
    """The cases that run in this process."""

    def expected(check, case):
        return expected_of(request.config, check, case)

    every = Soak(runs, expected)
    yield every
    every.close()
