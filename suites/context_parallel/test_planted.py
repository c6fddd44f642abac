"""Faults planted where the checks look: each is caught, and named by what it breaks."""

import pytest

from suites.context_parallel import test_communication, test_loss, test_order, test_packed, verdicts
from suites.context_parallel.probes import KINDS, LOCAL, STAND_IN, Probe
from suites.context_parallel.test_attention import judged


def _attention(ask, probe, fault):
    return judged(
        probe,
        ask(
            probe, "context_parallel:attention", kind=probe.kind, mechanism=probe.mechanism, precision="float64", fault=fault
        ),
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["contiguous-keys", "contiguous-rotary", "contiguous-batch"])
def test_wrong_order_is_caught_in_the_output(kind, fault, ask):
    verdict = _attention(ask, Probe("attention", 2, kind, STAND_IN), fault)
    assert verdict.word == verdicts.WRONG
    off = verdict.finding.split("off: ")[1].split("\n")[0].split(", ")
    assert {"output", "gradient of the input", "gradient of linear_proj.weight"} <= set(off)
    # Not a matter of rounding, nor of the tolerance.
    assert verdict.measured > 1e4 * verdict.tolerance


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_keys_that_are_not_reduced_are_caught_though_the_output_is_right(kind, ask):
    verdict = _attention(ask, Probe("attention", 2, kind, STAND_IN), "keys-gradient-kept")
    off, right = (verdict.finding.split(word)[1].split("\n")[0].split(", ") for word in ("off: ", "right: "))
    into_keys = "linear_kv_up_proj.weight" if kind == "MLA" else "linear_qkv.weight"
    assert {"gradient of the input", f"gradient of {into_keys}"} <= set(off)
    assert {"output", "gradient of linear_proj.weight"} <= set(right)


@pytest.mark.parametrize("kind", ["MHA", "GQA"])
def test_a_scale_that_is_one_per_cent_off_is_caught(kind, ask):
    verdict = _attention(ask, Probe("attention", 1, kind, LOCAL), "scale-off")
    assert verdict.word == verdicts.WRONG
    assert 1e2 * verdict.tolerance < verdict.measured


def test_a_batch_that_is_cut_in_order_is_caught(ask):
    probe = Probe("token order", 2)
    verdict = test_order.batch_verdict(probe, ask(probe, "context_parallel_order:batch", fault="contiguous-batch"))
    assert verdict.why == "tokens, labels, loss_mask, position_ids"
    assert "rank 0 has positions [0, 1, 2," in verdict.finding


def test_rotary_positions_in_order_are_caught(ask):
    probe = Probe("rotary positions", 4)
    verdict = test_order.angles_verdict(probe, ask(probe, "context_parallel_order:rotary", fault="contiguous-rotary"))
    # The second chunk of rank 0 is the last of 8 chunks of 4 tokens; in order it is the second: 24 positions away.
    assert verdict.word == verdicts.WRONG
    assert verdict.measured == 24


def test_positions_that_go_on_from_document_to_document_are_caught(ask):
    found = ask(Probe("packed rotary", 2), "context_parallel_order:packed_rotary", fault="continued")
    assert min(rank["difference"] for rank in found) > 0.1


@pytest.mark.parametrize("fault", ["default-instead", "mask-in-order"])
def test_wrong_weights_of_tokens_are_caught(fault, ask):
    probe = Probe("loss", 2, detail="per token, mask prompts")
    ranks = ask(probe, "context_parallel_loss:step", mode="per token", mask="prompts", fault=fault)
    verdict = test_loss.loss_verdict(probe, "per token", "prompts", ranks)
    assert verdict.word == verdicts.WRONG
    assert verdict.measured > 1e4 * verdict.tolerance


def test_layers_that_are_told_the_way_of_another_layer_are_caught(ask):
    probe = Probe("cp_comm_type", 2, detail="one a layer")
    ranks = ask(probe, "context_parallel_communication:layers_told", ways=test_communication.LISTED, fault="shifted")
    verdict = test_communication.told_verdict(probe, test_communication.LISTED, ranks)
    assert verdict.word == verdicts.WRONG
    assert "layer 2 is told a2a, and all_gather is listed" in verdict.finding or "IndexError" not in str(ranks)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_that_see_each_other_are_caught(kind, ask):
    """The comparison of packed documents, which needs Transformer Engine, tried on its own definition on one rank."""
    probe = Probe("packed", 1, kind, "definition")

    def verdict(**fault):
        ranks = ask(probe, "context_parallel_packed:attention", kind=kind, mechanism="definition", precision="float64", **fault)
        return test_packed.packed_verdict(probe, ranks)

    assert verdict().word == verdicts.WORKS
    assert "output" in verdict(fault="one document").finding.split("off: ")[1]
