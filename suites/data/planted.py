"""Rank-side: the data path with one thing wrong, for the tests that every check of it can fail."""

from __future__ import annotations

from typing import Any
from unittest import mock

import torch
from megatron.core import parallel_state

from fixtures.scenarios import data as scenario
from fixtures.stacks.megatron import data


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Read as the scenario does, with the fault of ``params["fault"]``."""
    with globals()[f"_{params['fault']}"]():
        return scenario.run(ctx, params)


def _sampled(change: Any) -> Any:
    """Let ``change(sampler)`` change the stack's sampler once it is made; it may return another."""
    make = data.make_sampler
    return mock.patch.object(data, "make_sampler", lambda *args: change(make(*args)))


def _nothing() -> Any:
    """Nothing is wrong."""
    return mock.patch.object(data, "KEYS", data.KEYS)


def _same_samples_everywhere() -> Any:
    """Every data parallel rank takes the part of the first."""

    def first(sampler: Any) -> Any:
        sampler.data_parallel_rank = 0
        return sampler

    return _sampled(first)


def _context_ranks_count() -> Any:
    """The sampler is given the rank among data and context parallel ranks, and their number."""

    def make(total: int, consumed: int, micro_batch_size: int) -> Any:
        return data.sampler_class()(
            total_samples=total,
            consumed_samples=consumed,
            micro_batch_size=micro_batch_size,
            data_parallel_rank=parallel_state.get_data_parallel_rank(with_context_parallel=True),
            data_parallel_size=parallel_state.get_data_parallel_world_size(with_context_parallel=True),
        )

    def microbatches(built: Any, consumed: int, size: int, count: int) -> Any:
        return original(built, consumed, size, count // parallel_state.get_context_parallel_world_size())

    original = data.microbatches
    return mock.patch.multiple(data, make_sampler=make, microbatches=microbatches)


def _not_broadcast() -> Any:
    """Tensor parallel ranks other than the first get the samples of a microbatch turned by one."""
    send = data.broadcast_data

    def turned(*args: Any) -> Any:
        by = parallel_state.get_tensor_model_parallel_rank()
        return {key: torch.roll(value, by, 0) for key, value in send(*args).items()}

    return mock.patch.object(data, "broadcast_data", turned)


def _middle_stage_reads() -> Any:
    """All stages of a pipeline take part in reading."""
    return mock.patch.object(parallel_state, "is_pipeline_first_stage", return_value=True)


class _Listed:
    """A sampler that is a list of its microbatches."""

    def __init__(self, batches: Any) -> None:
        self._batches = list(batches)

    def __iter__(self) -> Any:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)


def _first_again_at_the_end() -> Any:
    """The last sample of a rank is its first one again."""

    def again(sampler: Any) -> Any:
        batches = [list(batch) for batch in sampler]
        batches[-1][-1] = batches[0][0]
        return _Listed(batches)

    return _sampled(again)


def _order_of_the_degree() -> Any:
    """Samples are dealt out as a permutation that takes the data parallel degree in."""

    def dealt(sampler: Any) -> Any:
        world = parallel_state.get_data_parallel_world_size()
        order = torch.randperm(sampler.total_samples, generator=torch.Generator().manual_seed(world)).tolist()
        return _Listed([[order[index] for index in batch] for batch in sampler])

    return _sampled(dealt)


def _seed_ignored() -> Any:
    """The dataset's configuration gets a constant for a seed."""
    config = data.GPTDatasetConfig
    return mock.patch.object(data, "GPTDatasetConfig", lambda **fields: config(**{**fields, "random_seed": 1}))


def _resumed_a_microbatch_late() -> Any:
    """The first microbatch of a resumed run comes last."""

    def late(sampler: Any) -> Any:
        batches = list(sampler)
        return _Listed([*batches[1:], batches[0]] if sampler.consumed_samples else batches)

    return _sampled(late)


def _consumed_counted_on_two_ranks() -> Any:
    """Consumed samples are taken to be those of two data parallel ranks: right only where there are two."""

    def counted(sampler: Any) -> Any:
        sampler.consumed_samples = sampler.consumed_samples * 2 // parallel_state.get_data_parallel_world_size()
        return sampler

    return _sampled(counted)


def _weights_lost() -> Any:
    """Corpora are blended in equal parts."""
    config = data.GPTDatasetConfig

    def equal(**fields: Any) -> Any:
        prefixes, weights = fields["blend"]
        return config(**{**fields, "blend": (prefixes, None if weights is None else [1.0] * len(prefixes))})

    return mock.patch.object(data, "GPTDatasetConfig", equal)


def _word_lost() -> Any:
    """A sample's tokens are not those of the text."""
    texts = scenario._texts

    def changed(batch: Any) -> Any:
        found = texts(batch)
        return found and [text.replace("q", "x") for text in found]

    return mock.patch.object(scenario, "_texts", changed)
