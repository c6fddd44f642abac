"""Each check of the training step catches the fault that it is for, says where it is, and a clean run raises no alarm."""

import pytest

from suites.faults.conftest import all_checks

pytestmark = pytest.mark.faults

LAYOUT = "tp2pp2dp2"


@pytest.mark.parametrize("layout", [LAYOUT, "tp2cp2dp2nosp", "pp2dp2vpp2"])
def test_clean_run_raises_no_alarm(plant, layout):
    assert plant("nothing", layout) == {}


# fault, layout, architecture -> checks that must fail (no others may), and what the named check must say.
CASES = [
    ("norm_gradients_not_summed", LAYOUT, "llama",
     {"gradients", "gradient_sync", "gradient_norm", "weights", "weight_replicas", "loss_trajectory"},
     "gradient_sync", ["disagree along tp", "layer_norm_weight", "tensor parallel group"]),
    ("tied_embedding_not_summed", "tp2pp2dp2", "gpt-tied",
     {"gradients", "gradient_sync", "gradient_norm", "weights", "weight_replicas", "loss_trajectory"},
     "gradient_sync", ["replicas of embedding.word_embeddings disagree along pp", "first and the last stage"]),
    ("data_parallel_reduction_skipped", "tp2dp2cp2", "llama",
     {"gradients", "gradient_sync", "gradient_norm", "weights", "weight_replicas", "loss_trajectory", "gradient_norm_agrees"},
     "gradient_sync", ["disagree along cp and dp"]),
    ("gradients_scaled_twice", "tp2dp4", "llama", {"gradients", "gradient_norm", "weights", "loss_trajectory"},
     "gradients", ["ratio to the reference: 0.25, the same for every element", "average over dp were taken twice",
                   "all replicas agree"]),
    ("nan_in_forward", LAYOUT, "llama", None,
     "forward_finite", ["decoder.layers.3.mlp, microbatch 1, on rank 2 (tp0 dp1 pp0)"]),
    ("nan_in_backward", LAYOUT, "llama", None,
     "backward_finite", ["gradient of the output of decoder.layers.2.mlp", "microbatch 0, on rank 1 (tp1 dp0 pp0)"]),
    ("one_element_wrong", LAYOUT, "llama",
     # Norms are taken over each model replica, so that those of dp0, rank 0 among them, stay right.
     {"gradients", "gradient_sync", "weights", "weight_replicas", "gradient_norm_agrees"},
     "gradients", ["gradient of decoder.layers.2.mlp.linear_fc2 is not the reference's", "on rank 3 (tp1 dp1 pp0)",
                   "1 of 768 elements of this shard are wrong; the first is at [5, 31] of the global tensor [32, 48]",
                   "disagree along dp"]),
    ("one_weight_not_updated", LAYOUT, "llama", {"weights", "loss_trajectory", "gradient_norm"},
     "weights", ["weight of decoder.layers.", "self_attention.linear_proj is not the reference's"]),
    ("replica_drifts", LAYOUT, "llama", {"weight_replicas"},
     "weight_replicas", ["disagree along dp", "mlp.linear_fc1"]),
    ("second_step_lost", LAYOUT, "llama", {"loss_trajectory", "gradient_norm"},
     "loss_trajectory", ["loss of step 2"]),
    ("says_skipped", LAYOUT, "llama", {"optimizer_updates"},
     "optimizer_updates", ["rank 1 (tp1 dp0 pp0) skipped step 2"]),
    ("norm_differs_on_a_stage", LAYOUT, "llama", {"gradient_norm_agrees", "weights", "loss_trajectory", "gradient_norm"},
     "gradient_norm_agrees", ["ranks [0, 1, 2, 3]", "ranks [4, 5, 6, 7]"]),
    ("loss_off_on_one_rank", LAYOUT, "llama", {"loss", "loss_trajectory", "loss_agrees"}, "loss", ["loss of step 0"]),
    ("tokens_counted_twice", LAYOUT, "llama", None, "tokens", ["tokens in step 0, the global batch has 1024"]),
    ("shard_missing", LAYOUT, "llama", None, "coverage", ["elements are held"]),
    ("groups_in_another_order", "tp2cp2dp2", "llama", {"rank_groups"},
     "rank_groups", ["cp of rank", "the stack has", "the layout means"]),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "layout", "architecture", "failing", "check", "words"), CASES, ids=[c[0] for c in CASES])
def test_planted_fault_is_caught_and_named(plant, fault, layout, architecture, failing, check, words):
    findings = plant(fault, layout, architecture)
    assert check in findings
    for word in words:
        assert word in findings[check]
    if failing is not None:
        assert set(findings) == failing


def test_every_check_has_a_fault_that_it_catches():
    assert {check for case in CASES for check in case[3] or {case[4]}} == set(all_checks())
