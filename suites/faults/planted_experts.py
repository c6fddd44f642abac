"""Rank-side: one fault planted in the stack's experts or latent attention, then the ordinary scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from fixtures.scenarios import training_step
from fixtures.stacks.megatron import model as megatron_model


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Plant ``params["fault"]``, run the training step, and take the fault out again."""
    with FAULTS[params["fault"]](ctx):
        return training_step.run(ctx, params)


@contextmanager
def nothing(ctx: Any) -> Iterator[None]:
    """No fault."""
    yield


def _once_built(change: Callable[[Any], Any]) -> Any:
    """Return a fault that changes the model on every rank once it is built."""

    @contextmanager
    def fault(ctx: Any) -> Iterator[None]:
        original = megatron_model.MegatronModel.__init__

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            change(self)

        with mock.patch.object(megatron_model.MegatronModel, "__init__", init):
            yield

    return fault


def _unmark_routers(model: Any) -> None:
    for name, module in model.named_modules():
        if name.endswith("mlp.router"):
            module.weight.sequence_parallel = False


def _scale_experts_twice(model: Any) -> None:
    for chunk in model.chunks:
        for group in chunk.expert_parallel_bucket_groups:
            for bucket in group.buckets:
                bucket.gradient_scaling_factor /= model.layout.dp


def _changed_method(owner: str, name: str, change: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a fault around a method of the stack: ``change(ctx, self, result)`` returns what it gives instead."""

    @contextmanager
    def fault(ctx: Any) -> Iterator[None]:
        module_name, class_name = owner.rsplit(".", 1)
        kind = getattr(__import__(module_name, fromlist=[class_name]), class_name)
        original = getattr(kind, name)

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return change(ctx, self, original(self, *args, **kwargs))

        with mock.patch.object(kind, name, method):
            yield

    return fault


_DISPATCHER = "megatron.core.transformer.moe.token_dispatcher.MoEAlltoAllTokenDispatcher"


def _first_row_again(ctx: Any, _self: Any, result: Any) -> Any:
    tokens, counts, probs = result
    if ctx.rank == 1 and len(tokens) > 1:
        tokens = torch.cat([tokens[:1], tokens[:1], tokens[2:]])
    return tokens, counts, probs


def _last_row_lost(ctx: Any, _self: Any, rows: torch.Tensor) -> torch.Tensor:
    return torch.cat([rows[:-1], 0 * rows[-1:]]) if ctx.rank == 1 and len(rows) else rows


def _another_first_choice(ctx: Any, _self: Any, logits: torch.Tensor) -> torch.Tensor:
    if ctx.rank != 2:
        return logits
    shift = torch.zeros_like(logits)
    shift[0, 0, int(logits[0, 0].argmin())] = 100.0
    return logits + shift


@contextmanager
def _balance_loss_halved(ctx: Any) -> Iterator[None]:
    from megatron.core.transformer.moe import router

    original = router.switch_load_balancing_loss_func
    with mock.patch.object(router, "switch_load_balancing_loss_func", lambda *args, **kwargs: original(*args, **kwargs) / 2):
        yield


@contextmanager
def _z_loss_doubled(ctx: Any) -> Iterator[None]:
    from megatron.core.transformer.moe import router

    original = router.z_loss_func
    with mock.patch.object(router, "z_loss_func", lambda *args, **kwargs: 2 * original(*args, **kwargs)):
        yield


@contextmanager
def _expert_groups_swapped(ctx: Any) -> Iterator[None]:
    from fixtures.stacks.megatron.adapter import MegatronCore

    original = MegatronCore.rank_groups

    def groups(self: Any) -> dict[str, list[int]]:
        found = original(self)
        return {**found, "ep": found["edp"], "edp": found["ep"]}

    with mock.patch.object(MegatronCore, "rank_groups", groups):
        yield


class _SumGradient(torch.autograd.Function):
    """The input as it is; its gradient summed over tensor parallel ranks."""

    @staticmethod
    def forward(ctx: Any, whole: torch.Tensor) -> torch.Tensor:
        return whole.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        from megatron.core import parallel_state

        total = gradients[0].contiguous()
        torch.distributed.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
        return total


@contextmanager
def _rope_key_summed(ctx: Any) -> Iterator[None]:
    """No fault but a repair: the gradient of the shared rotary key is summed over tensor parallel ranks."""
    from megatron.core.transformer import multi_latent_attention

    original = multi_latent_attention.gather_from_tensor_model_parallel_region
    widths = []

    def gather(local: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        whole = original(local, *args, **kwargs)
        latent, rotary = whole.split([whole.shape[-1] - widths[0], widths[0]], dim=-1)
        return torch.cat([latent, _SumGradient.apply(rotary)], dim=-1)

    with (
        _once_built(lambda model: widths.append(model.config.qk_pos_emb_head_dim))(ctx),
        mock.patch.object(multi_latent_attention, "gather_from_tensor_model_parallel_region", gather),
    ):
        yield


FAULTS: dict[str, Any] = {
    "nothing": nothing,
    "router_gradients_not_summed": _once_built(_unmark_routers),
    "expert_gradients_scaled_twice": _once_built(_scale_experts_twice),
    "token_doubled": _changed_method(_DISPATCHER, "dispatch_postprocess", _first_row_again),
    "token_lost_on_the_way_back": _changed_method(_DISPATCHER, "token_combine", _last_row_lost),
    "another_expert_chosen": _changed_method(
        "megatron.core.transformer.moe.router.TopKRouter", "gating", _another_first_choice
    ),
    "balance_loss_halved": _balance_loss_halved,
    "z_loss_doubled": _z_loss_doubled,
    "expert_groups_swapped": _expert_groups_swapped,
    "rope_key_summed": _rope_key_summed,
}
