"""Checks of the data path run on the ranks of layouts, on a text that is written once."""

import pytest

from fixtures.cluster.failure import GangFailure
from fixtures.layout import Layout
from fixtures.oracle import corpus
from suites.data import reading as how
from suites.data import verdicts


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the checks of this folder."""
    for item in items:
        if "suites/data/" in item.nodeid:
            item.add_marker(pytest.mark.data)
            if "case" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.multinode)
            else:
                item.add_marker(pytest.mark.xdist_group("data"))


@pytest.fixture(scope="session")
def ask(gang_pool):
    """``ask(scenario, ranks, params)``: what ranks found."""
    return lambda scenario, world, params: gang_pool.run(f"fixtures.scenarios.data:{scenario}", world, params)


@pytest.fixture(scope="session")
def text(ask, tmp_path_factory):
    """The folder of the corpora, written by the stack's builder; the stack's caches lie there too."""
    folder = tmp_path_factory.mktemp("data")
    ask("write", 1, {"folder": str(folder)})
    return folder


@pytest.fixture(scope="session")
def readings(ask, text, request):
    """``readings(case)``: what the ranks of a case read, once; cases of one layout and seed read the same."""
    known, single = {}, {}

    def of(case):
        key = (case.stack, str(case.layout), case.seed)
        if key not in known:
            try:
                if case.seed not in single:
                    single[case.seed] = how.alone(ask, case, text)
                known[key] = how.read(ask, case, text, single[case.seed], request.config.getoption("--available-ranks"))
            except GangFailure as failure:
                known[key] = failure
        if isinstance(known[key], GangFailure):
            pytest.fail(f"the case did not complete: {known[key]}", pytrace=False)
        return known[key]

    return of


@pytest.fixture
def reading(case, readings, record_property):
    """What the ranks of the case read."""
    for name, value in (
        ("case", f"{case.id}-data"), ("architecture", case.architecture), ("layout", f"{case.layout} data"),
        ("precision", case.precision), ("optimizer", case.optimizer), ("model_class", case.model_class),
        ("world", case.layout.world), ("seed", case.seed),
    ):  # fmt: skip
        record_property(name, value)
    found = readings(case)
    for name, value in {**found.ranks[0]["environment"], "sampler": found.ranks[0]["sampler"]}.items():
        record_property(name, ", ".join(value) if isinstance(value, list) else value)
    return found


@pytest.fixture
def told_of(ask, text, request, tmp_path, record_property):
    """``told_of(damage)``: what the stack says to a corpus with a damage, or without one."""
    seed = request.config.getoption("--seed")
    read = {"corpora": [how.TEXT], "weights": None, "seed": seed, "consumed": 0}
    where = {"stack": "megatron-core", "seed": seed, "layout": "dp1"}

    def tell(damage):
        if damage is None:
            for file in text.glob(f"{how.TEXT}.*"):
                (tmp_path / file.name).write_bytes(file.read_bytes())
        else:
            for name, value in (("case", damage.id), ("layout", damage.id), ("architecture", ""), ("world", 1)):
                record_property(name, value)
            damage.make(text, tmp_path)
        right = verdicts.order(Layout(), ask("run", 1, {**where, "folder": str(text), "reads": [read]}), 0)
        params = {**where, "folder": str(tmp_path), "corpus": how.TEXT, "right": [corpus.digest(sample) for sample in right]}
        (told,) = ask("damaged", 1, params)
        return told

    return tell
