"""What a rank holds is what the layout says it holds."""

import math

# Bytes of Adam's state an element: two moments, in float32 for weights below it, and master weights beside those.
_STATE = {"float64": 16, "float32": 8, "bfloat16": 12}
# The stack pads buffers of a distributed optimizer: each tensor begins at a multiple of 64 elements, and each bucket has a
# multiple of 128 elements and of the ranks that share it (distributed/param_and_grad_buffer.py).
_TENSOR, _BUCKET = 64, 128


def _wrong(ranks, name, expected):
    return [
        (rank, held[name], right) for rank, (held, right) in enumerate(zip(ranks, expected, strict=True)) if held[name] != right
    ]


def _tell(check, wrong, what):
    check(
        wrong
        and f"{check.name}: rank {wrong[0][0]} holds {wrong[0][1]} bytes of {what}, its shards take {wrong[0][2]}; "
        f"ranks that differ: {[row[0] for row in wrong]}"
    )


def test_parameter_bytes(case, memory, check, tell_memory):
    """Parameters are those of the rank's shards, and nothing beside them."""
    fullest = max(memory, key=_total)
    kinds = ("parameters", "gradients", "optimizer", "activations")
    row = {
        "architecture": case.architecture,
        "layout": str(case.layout),
        "precision": case.precision,
        "optimizer kind": case.optimizer,
    }
    tell_memory(
        case, row | {kind: round(fullest[kind] / 1024, 1) for kind in kinds} | {"total": round(_total(fullest) / 1024, 1)}
    )
    _tell(check, _wrong(memory, "parameters", [held["elements"] * held["element_bytes"] for held in memory]), "parameters")


def _total(held):
    return held["parameters"] + held["gradients"] + held["optimizer"] + held["activations"]


def test_gradient_bytes(case, memory, check):
    """One gradient an element: of the weights' type, float32 beside bfloat16; buffers of a distributed optimizer are padded."""
    expected = [held["elements"] * max(4, held["element_bytes"]) for held in memory]
    if not case.optimizer.startswith("distributed"):
        return _tell(check, _wrong(memory, "gradients", expected), "gradients")
    bucket = math.lcm(_BUCKET, case.layout.dp * case.layout.cp)
    wrong = [
        (rank, held["gradients"], right)
        for rank, (held, right) in enumerate(zip(memory, expected, strict=True))
        for room in [max(4, held["element_bytes"]) * (_TENSOR * held["tensors"] + bucket * held["buckets"])]
        if not right <= held["gradients"] <= right + room
    ]
    _tell(check, wrong, "gradients")


def test_optimizer_bytes(case, memory, check):
    """Adam's state of every element: on each rank that has it; with a distributed optimizer once over data and context parallel
    ranks, experts' once over expert data parallel ranks.
    """
    state = _STATE[case.precision]
    if not case.optimizer.startswith("distributed"):
        return _tell(check, _wrong(memory, "optimizer", [held["elements"] * state for held in memory]), "optimizer state")
    layout, experts = case.layout, sum(rank["expert_elements"] for rank in memory)
    dense = sum(rank["elements"] for rank in memory) - experts
    held = sum(rank["optimizer"] for rank in memory)
    right = state * (dense // (layout.dp * layout.cp) + experts // layout.edp)
    check(
        held != right
        and f"{check.name}: all ranks together hold {held} bytes of optimizer state; each element once among its replicas "
        f"is {right}"
    )


def _in_flight(layout, rank, microbatches):
    """Return how many microbatches, each counted once for every chunk that it is in, a rank has in flight at most.

    1F1B and its interleaved form: "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (arXiv
    2104.04473), section 2.2: the forward passes before a stage's first backward pass, and the one with which it begins.
    """
    after = layout.pp - layout.coordinates(rank)["pp"] - 1
    warm_up = after if layout.vpp is None else 2 * after + (layout.vpp - 1) * layout.pp
    return min(microbatches * (layout.vpp or 1), warm_up + 1)


def test_microbatches_in_flight(case, memory, check):
    """A pipeline stage keeps the activations of as many microbatches as its schedule has in flight there."""
    limits = [_in_flight(case.layout, rank, held["microbatches"]) for rank, held in enumerate(memory)]
    wrong = [(rank, held["in_flight"]) for rank, held in enumerate(memory) if held["in_flight"] != limits[rank]]
    check(
        wrong
        and f"{check.name}: rank {wrong[0][0]} keeps the activations of {wrong[0][1]} microbatches at one time, its stage "
        f"needs {limits[wrong[0][0]]}; ranks that differ: {[row[0] for row in wrong]}"
    )
