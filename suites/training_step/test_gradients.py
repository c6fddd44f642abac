"""Gradients are those of one rank, and synchronised: replicas have the same bits."""

from fixtures.oracle import coverage, diagnose


def _worst(rows):
    """Return (error, tolerance) of the shard that uses most of its tolerance."""
    row = max(rows, key=lambda row: row.error / row.tolerance if row.tolerance else row.error)
    return {"measured": row.error, "tolerance": row.tolerance}


def test_coverage(evidence, check):
    """Every element of every global tensor is held by exactly one shard and its replicas."""
    problems = coverage.problems(evidence)
    check(problems and f"{check.name}: {len(problems)} problems\n  " + "\n  ".join(problems[:8]))


def test_gradients(evidence, check):
    check(diagnose.tensors_differ(evidence, "gradients", check.name), **_worst(evidence.rows("gradients")))


def test_gradient_sync(evidence, check):
    """Replicas on every axis (DP, CP, TP-replicated, tied over PP) are bit-identical after synchronisation."""
    check(diagnose.replicas_differ(evidence, "gradients", check.name))


def test_weights(evidence, check):
    """After one clipped optimizer step the weights are those of one rank."""
    check(diagnose.tensors_differ(evidence, "weights", check.name), **_worst(evidence.rows("weights")))


def test_weight_replicas(evidence, check):
    """After the optimizer step replicas are still bit-identical."""
    check(diagnose.replicas_differ(evidence, "weights", check.name))
