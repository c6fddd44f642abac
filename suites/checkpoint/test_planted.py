"""Each check of the suite catches the fault that it is for, and a clean pair raises no alarm."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.oracle.evidence import Evidence
from fixtures.oracle.reference import Reference
from fixtures.plugin.checkpoints import Resharded, Saved
from fixtures.reshard import Reshard
from suites.judging import checks_of

SAME = Reshard(Case("megatron-core", "llama", Layout.parse("tp2dp2"), "float32", "adam", "gpt", 1234), Layout.parse("tp2dp2"))
OTHER = replace(SAME, target=Layout.parse("pp2dp2"))
SHARDED = replace(
    SAME, case=replace(SAME.case, precision="bfloat16", optimizer="distributed"), sharding="fully_reshardable", way="parallel"
)


def all_checks():
    """Return the checks of pairs by name, called as pytest calls them."""
    return checks_of("suites.checkpoint.test_round_trip", "suites.checkpoint.test_resume")


class Recorder:
    """Stands for the ``check`` fixture: keeps the finding instead of failing."""

    def __init__(self, name):
        self.name, self.finding = name, ""

    def __call__(self, finding, measured=None, tolerance=None):
        if finding:
            self.finding = str(finding)


@pytest.fixture(scope="session")
def plant(checkpoints, gang_pool, tmp_path_factory):
    """``plant(fault, pair, when)`` runs a pair with a fault in its save or load; {check: finding} of all checks that fail."""

    def run(fault, pair, when):
        folder = tmp_path_factory.mktemp("planted")
        reference = checkpoints.reference(pair)
        where = {"folder": str(folder / "checkpoint"), "snapshot": str(folder / "snapshot")}
        how = {"sharding": pair.sharding, "asynchronous": False, "fully_parallel": pair.way == "parallel"}
        faults = {step: fault if step == when else "nothing" for step in ("save", "load")}
        world = pair.case.layout.world
        saved = gang_pool.run(
            "suites.checkpoint.planted:save", world, {"case": pair.source_json(), "fault": faults["save"], **where, **how}
        )
        gang_pool.discard(world)
        more = {"marks": "loaded", "reference": str(reference)}
        loaded = gang_pool.run(
            "suites.checkpoint.planted:load",
            world,
            {"case": pair.target_json(), "fault": faults["load"], **where, **how, **more},
        )
        resharded = Resharded(pair, Saved(saved, folder, folder), Evidence(pair.target_case, loaded, Reference(reference)))
        findings = {}
        for name, function in all_checks().items():
            if "same_pair" in inspect.signature(function).parameters and not pair.same_layout:
                continue
            recorder = Recorder(name)
            function(pair, resharded, recorder)
            if recorder.finding:
                findings[name] = recorder.finding
        return findings

    return run


@pytest.mark.parametrize("between", [SAME, OTHER, SHARDED], ids=lambda pair: pair.id)
def test_clean_pair_raises_no_alarm(plant, between):
    assert plant("nothing", between, "load") == {}


# fault, pair, where -> checks that must fail (no others may), and what the named check must say.
CASES = [
    ("moments_not_loaded", SAME, "load", {"optimizer_restored", "losses_resumed", "weights_resumed", "resumed_bit_identical"},
     "optimizer_restored", ["exp_avg/embedding.word_embeddings.weight", "on rank 1 (tp1 dp0)", "it is all zeros"]),
    ("moments_swapped", OTHER, "load", {"optimizer_restored", "weights_resumed"},
     "optimizer_restored", ["exp_avg", "is not what was saved"]),
    ("weight_skipped", OTHER, "load", {"weights_restored", "losses_resumed", "weights_resumed"},
     "weights_restored", ["mlp.linear_fc2.weight", "nothing was loaded into it"]),
    ("one_bit_in_a_weight", SAME, "load", {"weights_restored", "resumed_bit_identical"},
     "weights_restored", ["weight/embedding.word_embeddings.weight", "on rank 2 (tp0 dp1)", "1 of "]),
    ("iteration_off_by_one", OTHER, "load", {"progress_restored", "losses_resumed", "weights_resumed"},
     "progress_restored", ["iteration on rank 0", "is 3, saved was 2"]),
    # The learning rate of the next step is stored with the optimizer; the one after it comes from the schedule.
    ("schedule_not_loaded", OTHER, "load", {"progress_restored", "weights_resumed"},
     "progress_restored", ["scheduler_steps"]),
    ("steps_forgotten", SAME, "load",
     {"progress_restored", "losses_resumed", "weights_resumed", "resumed_bit_identical"},
     "progress_restored", ["optimizer_steps on rank 0", "is [0], saved was [2]"]),
    ("random_state_not_restored", SAME, "load", {"random_state_restored"},
     "random_state_restored", ["of rank 0", "ranks: [0, 1, 2, 3]"]),
    ("random_state_of_another_rank", SAME, "load", {"random_state_restored"},
     "random_state_restored", ["of rank 2 (tp0 dp1)", "ranks: [2, 3]"]),
    ("snapshot_too_late", SAME, "save",
     # The run that goes on has the fault in it too, so that the resumed one has the same bits.
     {"weights_restored", "optimizer_restored", "losses_resumed", "weights_resumed"},
     "weights_restored", ["weight/", "other values were loaded"]),
    ("part_not_held", SAME, "load", {"nothing_missing", "resumed_bit_identical"},
     "nothing_missing", ["exp_avg/decoder.layers.0.mlp.linear_fc2.weight"]),
    ("wrong_after_resume", OTHER, "load", {"losses_resumed", "weights_resumed"},
     "weights_resumed", ["is not the reference's"]),
    ("moments_not_loaded", SHARDED, "load", {"optimizer_restored", "resumed_bit_identical"},
     "optimizer_restored", ["exp_avg/", "on rank 1 (tp1 dp0)"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "between", "when", "failing", "named", "words"), CASES, ids=[f"{case[0]}-{case[1].target}" for case in CASES]
)
def test_planted_fault_is_caught_and_named(plant, fault, between, when, failing, named, words):
    findings = plant(fault, between, when)
    assert named in findings
    for word in words:
        assert word in findings[named]
    assert set(findings) == failing


def test_every_check_has_a_fault_that_it_catches():
    # A snapshot that is not whole is caught in the test below.
    assert {check for case in CASES for check in case[3]} | {"snapshot_whole"} == set(all_checks())


def test_a_part_that_no_rank_holds_when_saving(gang_pool, tmp_path):
    where = {"folder": str(tmp_path / "checkpoint"), "snapshot": str(tmp_path / "snapshot")}
    how = {"sharding": None, "asynchronous": False, "fully_parallel": False, "fault": "shards_lost"}
    ranks = gang_pool.run("suites.checkpoint.planted:save", 4, {"case": SAME.source_json(), **where, **how})
    resharded = Resharded(SAME, Saved(ranks, tmp_path, tmp_path), Evidence(SAME.target_case, [], None))
    recorder = Recorder("snapshot_whole")
    all_checks()["snapshot_whole"](SAME, resharded, recorder)
    assert recorder.finding.startswith(
        "snapshot_whole: no rank holds all of weight/decoder.layers.3.mlp.linear_fc2.weight in tp2dp2"
    )
