"""Rank-side: saves and loads with one thing wrong in the stack, for the tests that every check catches what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from megatron.core import dist_checkpointing
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

from fixtures.scenarios import checkpoint
from fixtures.stacks.megatron import checkpoint as adapter
from fixtures.stacks.megatron import held


def save(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Save as the scenario does, with the fault of ``params["fault"]``."""
    with _fault(params["fault"], ctx.rank):
        return checkpoint.save(ctx, params)


def load(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Load as the scenario does, with the fault."""
    with _fault(params["fault"], ctx.rank):
        return checkpoint.load(ctx, params)


@contextmanager
def _fault(name: str, rank: int) -> Iterator[None]:
    with globals()[f"_{name}"](rank):
        yield


@contextmanager
def _nothing(rank: int) -> Iterator[None]:
    yield


def _after_load(change: Any) -> Any:
    """Let the stack load, then change what it has loaded."""
    load = adapter.MegatronCheckpointing._load

    def loaded(self: Any, *args: Any) -> None:
        load(self, *args)
        with torch.no_grad():
            change(self)

    return mock.patch.object(adapter.MegatronCheckpointing, "_load", loaded)


def _first_state(state: Any) -> dict[str, Any]:
    optimizer = held.optimizers_of(state.model)[0].optimizer
    return next(value for value in optimizer.state.values() if "exp_avg" in value)


def _moments_not_loaded(rank: int) -> Any:
    """One parameter's first moment stays at zero, on one rank."""
    return _after_load(lambda state: _first_state(state)["exp_avg"].zero_() if rank == 1 else None)


def _moments_swapped(rank: int) -> Any:
    """First and second moment of one parameter change places."""

    def swap(state: Any) -> None:
        found = _first_state(state)
        found["exp_avg"], found["exp_avg_sq"] = found["exp_avg_sq"], found["exp_avg"]

    return _after_load(swap)


def _weight_skipped(rank: int) -> Any:
    """One weight has after the load what it had before."""
    load = adapter.MegatronCheckpointing._load

    def skipping(self: Any, *args: Any) -> None:
        name, weight = next(item for item in self.model.parameters().items() if item[0].endswith("linear_fc2.weight"))
        before = weight.detach().clone()
        load(self, *args)
        with torch.no_grad():
            self.model.parameters()[name].copy_(before)

    return mock.patch.object(adapter.MegatronCheckpointing, "_load", skipping)


def _one_bit_in_a_weight(rank: int) -> Any:
    """The last bit of one element of one weight, on one rank: far below any tolerance."""

    def flip(state: Any) -> None:
        if rank == 2:
            weight = next(iter(state.model.parameters().values()))
            weight.view(-1)[3] = torch.nextafter(weight.view(-1)[3], torch.tensor(float("inf"), dtype=weight.dtype))

    return _after_load(flip)


def _iteration_off_by_one(rank: int) -> Any:
    def ahead(state: Any) -> None:
        state.iteration += 1
        state.consumed_samples += checkpoint.SAMPLES

    return _after_load(ahead)


def _schedule_not_loaded(rank: int) -> Any:
    """The schedule starts from its beginning."""
    return mock.patch.object(OptimizerParamScheduler, "load_state_dict", return_value=None)


def _steps_forgotten(rank: int) -> Any:
    """The optimizer counts its steps from zero again."""

    def forget(state: Any) -> None:
        for optimizer in held.optimizers_of(state.model):
            for group in optimizer.optimizer.param_groups:
                group["step"] = 0

    return _after_load(forget)


def _random_state_not_restored(rank: int) -> Any:
    return mock.patch.object(adapter, "_restore", return_value=None)


def _random_state_of_another_rank(rank: int) -> Any:
    """Every data parallel rank gets the state of the first."""
    restore = adapter._restore

    def first(self: Any, *args: Any) -> None:
        group = adapter.parallel_state.get_data_parallel_group(with_context_parallel=True)
        states = [None] * group.size()
        torch.distributed.all_gather_object(states, adapter._random_state(), group=group)
        restore(states[0])

    return _after_load(first)


def _snapshot_too_late(rank: int) -> Any:
    """What is written is the state of a step later: an asynchronous save that does not copy."""
    save = dist_checkpointing.save

    def late(state: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            for tensor in _tensors(state):
                if tensor.is_floating_point():
                    tensor.add_(1e-3)
        return save(state, *args, **kwargs)

    return mock.patch.object(dist_checkpointing, "save", late)


def _tensors(state: Any) -> Iterator[torch.Tensor]:
    if isinstance(state, dict):
        for value in state.values():
            yield from _tensors(value)
    elif isinstance(state, (list, tuple)):
        for value in state:
            yield from _tensors(value)
    elif isinstance(getattr(state, "data", None), torch.Tensor):
        yield state.data


def _part_not_held(rank: int) -> Any:
    """No rank says that it has the moments of one tensor."""
    state = held.held_state

    def less(model: Any) -> Iterator[Any]:
        return (part for part in state(model) if part.name != "exp_avg/decoder.layers.0.mlp.linear_fc2.weight")

    return mock.patch.object(adapter, "held_state", less)


def _wrong_after_resume(rank: int) -> Any:
    """What is loaded is right, and the steps after it clip at another norm."""
    return _after_load(lambda state: [setattr(o.config, "clip_grad", 0.05) for o in held.optimizers_of(state.model)])


def _shards_lost(rank: int) -> Any:
    """Of one weight only tensor parallel rank 0 has its part."""
    state = held.held_state

    def less(model: Any) -> Iterator[Any]:
        lost = "weight/decoder.layers.3.mlp.linear_fc2.weight"
        return (part for part in state(model) if part.name != lost or not any(part.shard.offset))

    return mock.patch.object(adapter, "held_state", less)
