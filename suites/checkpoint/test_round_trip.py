"""What was saved is there again after loading, bit for bit, in the layout it was saved in and in any other."""

OPTIMIZER_KINDS = ("exp_avg", "exp_avg_sq", "master_weight")


def _problems(resharded, check, kinds):
    """Return the finding of tensors of these kinds that are not what was saved: the worst first, with where they lie."""
    rows = [
        (rank, row)
        for rank, found in enumerate(resharded.loaded.ranks)
        for row in found["compared"]["wrong"]
        if row["name"].split("/")[0] in kinds
    ]
    if not rows:
        return None
    rank, row = max(rows, key=lambda item: item[1]["wrong"])
    names = sorted({row["name"] for _, row in rows})
    if row["unchanged"]:
        why = "it is what it was before the load: nothing was loaded into it"
    elif row["zero"]:
        why = "it is all zeros"
    else:
        why = "other values were loaded"
    return (
        f"{check.name}: {row['name']} is not what was saved, on {resharded.loaded.where(rank)}: {why}\n"
        f"  {row['wrong']} of {row['compared']} elements of this part differ; the first is at {row['first']} of the global "
        f"tensor: {row['value']}, saved was {row['saved']}\n"
        f"  tensors that differ, of those described: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}; "
        f"ranks: {sorted({rank for rank, _ in rows})}"
    )


def _rates(group):
    return group["lr"], group["weight_decay"]


def test_snapshot_whole(pair, resharded, check):
    """Before the save, every element of weights, moments and master weights is held by some rank."""
    missing = resharded.saved.ranks[0]["not_written"]
    check(missing and f"{check.name}: no rank holds all of {', '.join(missing[:6])} in {resharded.pair.case.layout}")


def test_weights_restored(pair, resharded, check):
    check(_problems(resharded, check, ("weight",)))


def test_optimizer_restored(pair, resharded, check):
    """Adam's moments, and the float32 master weights where they are kept apart."""
    check(_problems(resharded, check, OPTIMIZER_KINDS))


def test_nothing_missing(pair, resharded, check):
    """Every element that was saved is held by some rank after the load, and nothing is there that was not saved."""
    missing = resharded.loaded.ranks[0]["not_loaded"]
    unknown = sorted({name for rank in resharded.loaded.ranks for name in rank["compared"]["unknown"]})
    finding = None
    if missing:
        finding = f"{check.name}: after loading no rank holds all of {', '.join(missing[:6])}; in all {len(missing)}"
    elif unknown:
        finding = f"{check.name}: after loading there is {', '.join(unknown[:6])}, of another shape or type than what was saved"
    check(finding)


def test_progress_restored(pair, resharded, check):
    """Iteration, position in the data, schedule, step counts of the optimizer, learning rates."""
    expected = resharded.saved.ranks[0]["progress"]
    wrong = [
        (rank, name, found["progress"][name], expected[name])
        for rank, found in enumerate(resharded.loaded.ranks)
        for name in ("iteration", "consumed_samples", "scheduler_steps", "optimizer_steps")
        if found["progress"][name] != expected[name]
    ]
    # How many groups a rank has depends on its layers; which rates there are does not.
    rates = {_rates(group) for rank in resharded.saved.ranks for group in rank["progress"]["parameter_groups"]}
    wrong += [
        (rank, "learning rate and weight decay", _rates(group), sorted(rates))
        for rank, found in enumerate(resharded.loaded.ranks)
        for group in found["progress"]["parameter_groups"]
        if _rates(group) not in rates
    ]
    check(
        wrong
        and f"{check.name}: {wrong[0][1]} on {resharded.loaded.where(wrong[0][0])} is {wrong[0][2]}, saved was {wrong[0][3]}\n"
        f"  in all {len(wrong)} values on ranks {sorted({row[0] for row in wrong})}"
    )


def test_random_state_restored(same_pair, resharded, check):
    """In the same layout every rank goes on with its own random states: Python's, numpy's, torch's, the stack's tracker."""
    wrong = [
        (rank, name)
        for rank, (saved, found) in enumerate(zip(resharded.saved.ranks, resharded.loaded.ranks, strict=True))
        for name in saved["random"]
        if found["random"].get(name) != saved["random"][name]
    ]
    check(
        wrong
        and f"{check.name}: random state {wrong[0][1]!r} of {resharded.loaded.where(wrong[0][0])} is not the saved one\n"
        f"  states that differ: {sorted({name for _, name in wrong})}; ranks: {sorted({rank for rank, _ in wrong})}"
    )
