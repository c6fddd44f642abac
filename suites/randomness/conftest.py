"""Checks of random states run on a few ranks, in layouts of their own."""

import pytest

from fixtures.case import Case
from fixtures.cluster.failure import GangFailure
from fixtures.layout import Layout


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder."""
    for item in items:
        if "suites/randomness/" in item.nodeid:
            item.add_marker(pytest.mark.randomness)


@pytest.fixture
def ranks_of(request, gang_pool, record_property):
    """``ranks_of(layout, scenario, params)`` returns what each rank found."""

    def run(layout, scenario, params):
        for name, value in (("case", f"randomness-{layout}"), ("layout", str(layout)), ("world", layout.world)):
            record_property(name, value)
        if layout.world > request.config.getoption("--available-ranks"):
            pytest.skip(f"untested here: needs {layout.world} ranks")
        try:
            return gang_pool.run(f"fixtures.scenarios.randomness:{scenario}", layout.world, params)
        except GangFailure as failure:
            pytest.fail(f"the case did not complete: {failure}", pytrace=False)

    return run


@pytest.fixture
def drawn(request, ranks_of):
    """``drawn(layout)``: the layout, and what each rank draws from its random states."""

    def draw(text):
        layout = Layout.parse(text)
        return layout, ranks_of(layout, "streams", {"layout": text, "seed": request.config.getoption("--seed")})

    return draw


@pytest.fixture
def recomputed(request, ranks_of):
    """``recomputed(layout)``: how gradients under dropout differ with recomputation, on each rank."""

    def run(text):
        layout = Layout.parse(text)
        case = Case("megatron-core", "llama", layout, "float64", "adam", "gpt", request.config.getoption("--seed"))
        return ranks_of(layout, "recompute", {"case": case.to_json()})

    return run
