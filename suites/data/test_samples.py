"""Every rank gets the samples that are its own, in an order that outlives a restart and a change of the layout."""

import pytest

from fixtures.layout import Layout
from fixtures.oracle import corpus
from suites.data import verdicts
from suites.data.reading import BLEND, CONSUMED, EPOCH, OTHER_SEED, RESUMED, TEXT, WEIGHTS


def _alone(reading, read):
    return verdicts.order(Layout(), reading.alone, read)


def _tell(check, finding):
    check(finding and f"{check.name}: {finding}")


def test_replica_samples(reading, check):
    """The tp, pp and cp ranks of a replica get the same samples."""
    findings = (verdicts.replicas_differ(reading.layout, reading.ranks, read) for read in (EPOCH, RESUMED, BLEND))
    _tell(check, next(filter(None, findings), None))


def test_own_samples(reading, check):
    """Each data parallel rank gets samples of its own."""
    _tell(check, verdicts.shared(reading.layout, reading.ranks, EPOCH))


def test_epoch_once(reading, check):
    """An epoch has every sample exactly once."""
    _tell(check, verdicts.epoch(verdicts.order(reading.layout, reading.ranks, EPOCH), corpus.documents(TEXT)))


def test_order_of_layout(reading, check):
    """The order of samples is that of one rank."""
    got = verdicts.order(reading.layout, reading.ranks, EPOCH)
    _tell(check, verdicts.other_order(got, _alone(reading, EPOCH), f"in {reading.layout} against one rank"))


def test_order_of_seed(reading, check):
    """Another seed gives another order."""
    got = verdicts.order(reading.layout, reading.ranks, OTHER_SEED)
    same = got == verdicts.order(reading.layout, reading.ranks, EPOCH)
    finding = "two seeds give the same order" if same else None
    _tell(check, finding or verdicts.other_order(got, _alone(reading, OTHER_SEED), "with another seed, against one rank"))


def test_resumed_samples(reading, check):
    """A resumed run goes on with the sample after the last one."""
    got = verdicts.order(reading.layout, reading.ranks, RESUMED)
    right = verdicts.order(reading.layout, reading.ranks, EPOCH)[CONSUMED:]
    _tell(check, verdicts.other_order(got, right, f"resumed after {CONSUMED} samples"))


def test_resumed_samples_elsewhere(reading, check):
    """A run that is resumed in another layout goes on with the sample after the last one."""
    if reading.elsewhere is None:
        pytest.skip(f"untested here: {reading.other} needs {reading.other.world} ranks")
    got = verdicts.order(reading.other, reading.elsewhere, 0)
    right = verdicts.order(reading.layout, reading.ranks, EPOCH)[CONSUMED:]
    _tell(check, verdicts.other_order(got, right, f"resumed in {reading.other} after {CONSUMED} samples in {reading.layout}"))


def test_blend_weights(reading, check):
    """A blend keeps the weights of its corpora."""
    _tell(check, verdicts.blend(verdicts.order(reading.layout, reading.ranks, BLEND), WEIGHTS))
