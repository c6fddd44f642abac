"""Each check of the data path fails for what it is for, and for nothing else that is right."""

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from suites.data import reading as how
from suites.data import test_samples as checks

NAMES = [name.removeprefix("test_") for name in vars(checks) if name.startswith("test_")]
# What also fails where samples that should be there are not.
ORDER = {"epoch_once", "order_of_layout", "order_of_seed"}
# fault -> layout, the checks that fail and no others, and what one of them says.
CASES = {
    "nothing": ("pp4", set(), ""),
    "same_samples_everywhere": (
        "tp2dp2",
        {"own_samples", *ORDER, "resumed_samples_elsewhere", "blend_weights"},
        "own_samples: replicas dp0 and dp1 train on 64 samples of which each should be with one of them",
    ),
    "context_ranks_count": (
        "cp2dp2",
        {"replica_samples", *ORDER, "resumed_samples", "resumed_samples_elsewhere", "blend_weights"},
        "differ along cp",
    ),
    "not_broadcast": (
        "tp2dp2",
        {"replica_samples"},
        "replica_samples: rank 1 (tp1 dp0) got other samples than rank 0 of the same replica dp0, from microbatch 0 on: they "
        "differ along tp",
    ),
    "middle_stage_reads": ("pp4", {"replica_samples"}, "replica_samples: rank 1 (pp1) got samples, and stage 1 needs none"),
    "first_again_at_the_end": (
        "tp2dp2",
        {*ORDER, "resumed_samples", "resumed_samples_elsewhere"},
        "epoch_once: 2 samples come more than once",
    ),
    "word_lost": ("dp2", ORDER, "kinds of bytes are not as often in the samples as in the text: 'q' 0 times"),
    "order_of_the_degree": (
        "tp2dp2",
        {"order_of_layout", "order_of_seed", "resumed_samples_elsewhere", "blend_weights"},
        "order_of_layout: in tp2dp2 against one rank, sample 0 of 128",
    ),
    "seed_ignored": ("dp2", {"order_of_layout", "order_of_seed"}, "order_of_seed: two seeds give the same order"),
    "resumed_a_microbatch_late": (
        "dp2",
        {"resumed_samples", "resumed_samples_elsewhere"},
        "resumed_samples: resumed after 32 samples, sample 0 of 96 should be",
    ),
    "consumed_counted_on_two_ranks": (
        "tp2dp2",
        {"resumed_samples_elsewhere"},
        "resumed_samples_elsewhere: resumed in dp4 after 32 samples in tp2dp2, sample 0 of 96 should be",
    ),
    "weights_lost": ("dp2", {"blend_weights"}, "blend_weights: of the first "),
}


@pytest.fixture(scope="module")
def findings(gang_pool, tmp_path_factory):
    """``findings(fault, layout)``: what each check says of ranks with a fault; the single rank has none."""

    def judge(fault, layout):
        folder = tmp_path_factory.mktemp("planted")
        gang_pool.run("fixtures.scenarios.data:write", 1, {"folder": str(folder)})
        case = Case("megatron-core", "llama", Layout.parse(layout), "float64", "adam", "gpt", 1234)

        def ask(scenario, world, params):
            return gang_pool.run("suites.data.planted:run", world, {**params, "fault": fault})

        single = gang_pool.run("suites.data.planted:run", 1, {**_alone(case, folder), "fault": "nothing"})
        read = how.read(ask, case, folder, single)
        return {name: said for name in NAMES if (said := _said(name, read))}

    return judge


def _alone(case, folder):
    return how.params(case, Layout(), folder, how.reads(case.seed)[: how.OTHER_SEED + 1])


def _said(name, read):
    said = []

    def check(finding):
        said.append(finding)

    check.name = name
    getattr(checks, f"test_{name}")(read, check)
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize("fault", CASES)
def test_planted_fault_is_caught(findings, fault):
    layout, failing, words = CASES[fault]
    found = findings(fault, layout)
    assert set(found) == failing, found
    assert words in "\n".join(found.values())


def test_every_check_has_a_fault_that_it_catches():
    assert set().union(*(failing for _, failing, _ in CASES.values())) == set(NAMES)
