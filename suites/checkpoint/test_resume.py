"""A run that was saved and loaded goes on as if it had never stopped."""

from fixtures.oracle import diagnose

# Steps of the uninterrupted run before the save; its losses after them are what the resumed run must show.
BEFORE = 2


def test_losses_resumed(pair, resharded, check):
    """Losses after the load are those of the uninterrupted one-rank run."""
    evidence = resharded.loaded
    rows = evidence.reference.numbers["losses"][BEFORE:]
    values = evidence.losses()
    ratios = [abs(value - row["value"]) / row["tolerance"] for value, row in zip(values, rows, strict=True)]
    worst = max(range(len(rows)), key=lambda step: ratios[step])
    value, row = values[worst], rows[worst]
    difference = abs(value - row["value"])
    finding = None
    if not difference <= row["tolerance"]:
        finding = (
            f"{check.name}: loss of step {BEFORE + worst}, step {worst} after loading, is {value!r}; "
            f"without interruption it is {row['value']!r}\n"
            f"  differs by {difference:.3g}, allowed {row['tolerance']:.3g}; a first step that is right and a second that is "
            "not point at optimizer state, learning rate or position in the data"
        )
    check(finding, measured=difference, tolerance=row["tolerance"])


def test_weights_resumed(pair, resharded, check):
    """Weights at the end are those of the uninterrupted one-rank run."""
    rows = resharded.loaded.rows("weights")
    worst = max(rows, key=lambda row: row.error / row.tolerance if row.tolerance else row.error)
    check(diagnose.tensors_differ(resharded.loaded, "weights", check.name), measured=worst.error, tolerance=worst.tolerance)


def test_resumed_bit_identical(same_pair, resharded, check):
    """In the same layout losses, weights and optimizer state at the end have the bits of the run that was not interrupted."""
    ranks = list(zip(resharded.saved.ranks, resharded.loaded.ranks, strict=True))
    losses = [rank for rank, (saved, found) in enumerate(ranks) if saved["losses"] != found["losses"]]
    tensors = [
        (rank, name)
        for rank, (saved, found) in enumerate(ranks)
        for name in saved["final"]
        if found["final"].get(name) != saved["final"][name]
    ]
    finding = None
    if losses:
        finding = f"{check.name}: losses on {resharded.loaded.where(losses[0])} are not those of the run that went on"
    elif tensors:
        finding = (
            f"{check.name}: {tensors[0][1]} on {resharded.loaded.where(tensors[0][0])} is not that of the run that went on\n"
            f"  parts that differ: {len(tensors)}, on ranks {sorted({rank for rank, _ in tensors})}; losses are equal"
        )
    check(finding)
