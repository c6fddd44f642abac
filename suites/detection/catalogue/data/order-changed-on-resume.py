"""A run that is resumed shuffles its samples anew, by a seed that the consumed samples are in."""

from suites.detection.fault import Fault, On
from suites.detection.planting import reached

FAULT = Fault(
    area="data",
    wrong="A run that is resumed shuffles its samples anew.",
    on=On("tp2dp2"),
    caught_by=("resumed_samples", "resumed_samples_elsewhere"),
    says=("resumed after 32 samples, sample 0 of 96 should be",),
    kind="data",
)


def plant(ctx):
    """See the first line."""
    from unittest import mock

    from fixtures.stacks.megatron import data

    original = data.make_sampler

    def make(total, consumed, micro_batch_size):
        import torch

        sampler = original(total, consumed, micro_batch_size)
        if not consumed:
            return sampler
        reached()
        order = torch.randperm(total, generator=torch.Generator().manual_seed(consumed)).tolist()
        return [[order[index] for index in batch] for batch in sampler]

    return mock.patch.object(data, "make_sampler", make)
