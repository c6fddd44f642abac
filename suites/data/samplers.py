"""Rank-side: the sampler that stands for Megatron-LM's, beside it where that is installed."""

from __future__ import annotations

from typing import Any

from fixtures.stacks.megatron import data

Dealt = list[list[list[int]]]


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the samples of each rank's microbatches for every (total, consumed, size, ranks) in ``params["cases"]``:
    ``own``, and ``theirs``, None where Megatron-LM's sampler is not installed.
    """
    theirs = data.sampler_class()
    installed = theirs is not data.Sampler
    return {
        "own": [_dealt(data.Sampler, *case) for case in params["cases"]],
        "theirs": [_dealt(theirs, *case) for case in params["cases"]] if installed else None,
    }


def _dealt(sampler: Any, total: int, consumed: int, micro_batch_size: int, ranks: int) -> Dealt:
    return [
        list(
            sampler(
                total_samples=total,
                consumed_samples=consumed,
                micro_batch_size=micro_batch_size,
                data_parallel_rank=rank,
                data_parallel_size=ranks,
            )
        )
        for rank in range(ranks)
    ]
