"""The losses that balance experts are those of their definitions, on one rank's choices."""

from fixtures.oracle.diagnose import Finding

_NAMES = {"sequence": "seq_load_balancing_loss", "microbatch": "load_balancing_loss"}


def _worst(evidence, name, expected):
    """Return (error, tolerance, rank, layer, value, expected) where most of a tolerance is used."""
    rows = []
    for rank, ranks in enumerate(evidence.ranks):
        reported = ranks["experts"]["losses"].get(name, [0.0] * len(expected))
        for layer, (value, row) in enumerate(zip(reported, expected, strict=True)):
            rows.append((abs(value - row["value"]), row["tolerance"], rank, layer, value, row["value"]))
    return max(rows, key=lambda row: row[0] / row[1] if row[1] else row[0])


def _check(evidence, check, name, expected, what):
    error, tolerance, rank, layer, value, right = _worst(evidence, name, expected)
    finding = None
    if not error <= tolerance:
        ratio = f"; ratio {value / right:.6g}" if right else ""
        finding = Finding(
            check.name,
            f"the {what} that {evidence.where(rank)} reports for layer {layer} is {value!r}, by its definition it is {right!r}",
            module=f"decoder.layers.{layer}.mlp.router",
            lines=(f"differs by {error:.3g}, allowed {tolerance:.3g}{ratio}",),
        )
    check(finding, measured=error, tolerance=tolerance)


def test_balance_loss(evidence, check):
    """The load-balancing loss that every rank reports is that of the tokens of its sequences or microbatches."""
    case = evidence.case
    name = "global_load_balancing_loss" if case.moe_feature == "global-balance" else _NAMES[case.model.experts.balance]
    _check(evidence, check, name, evidence.reference.numbers["balance_losses"], "balance loss")


def test_z_loss(evidence, check):
    """The z-loss that every rank reports is the mean over all tokens."""
    _check(evidence, check, "z_loss", evidence.reference.numbers["z_losses"], "z-loss")
