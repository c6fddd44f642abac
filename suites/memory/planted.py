"""Rank-side: a case with one thing wrong in what a rank holds, for the tests that every check of memory can fail."""

from __future__ import annotations

from typing import Any
from unittest import mock

import torch

from fixtures.scenarios import memory
from fixtures.stacks.megatron.held import optimizers_of
from fixtures.stacks.megatron.model import MegatronModel


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Count as the scenario does, with the fault of ``params["fault"]``."""
    with globals()[f"_{params['fault']}"]():
        return memory.run(ctx, params)


def _built(change: Any) -> Any:
    build = MegatronModel.__init__

    def changed(self: Any, *args: Any) -> None:
        build(self, *args)
        change(self)

    return mock.patch.object(MegatronModel, "__init__", changed)


def _parameter_twice() -> Any:
    """The word embedding has a twin that is in no checkpoint."""

    def add(model: Any) -> None:
        if hasattr(model._bare[0], "embedding"):
            table = model._bare[0].embedding.word_embeddings
            table.twin = torch.nn.Parameter(table.weight.detach().clone())

    return _built(add)


def _gradients_twice() -> Any:
    """Gradient buffers are double what they should be."""

    def double(model: Any) -> None:
        for buffer in model.chunks[0].buffers:
            buffer.grad_data = torch.cat([buffer.grad_data, buffer.grad_data])

    step = MegatronModel.optimizer_step

    def stepped(self: Any) -> Any:
        result = step(self)
        double(self)
        return result

    return mock.patch.object(MegatronModel, "optimizer_step", stepped)


def _moments_in_double() -> Any:
    """The optimizer's moments are kept in float64."""
    step = MegatronModel.optimizer_step

    def stepped(self: Any) -> Any:
        result = step(self)
        for optimizer in optimizers_of(self):
            for state in optimizer.optimizer.state.values():
                for name in ("exp_avg", "exp_avg_sq"):
                    state[name] = state[name].double()
        return result

    return mock.patch.object(MegatronModel, "optimizer_step", stepped)


def _activations_kept() -> Any:
    """Outputs of all microbatches are kept, and with them what autograd has saved."""
    forward = MegatronModel._forward_step
    kept = []

    def keeping(self: Any, data: Any, module: Any) -> Any:
        output, loss = forward(self, data, module)
        twin = output * 2.0
        kept.append(twin.sin())
        return output, loss

    return mock.patch.object(MegatronModel, "_forward_step", keeping)
