"""Rank-side: one fault planted in the installed stack, then the ordinary scenario. Only the tests beside it import this."""

from __future__ import annotations

import os
import signal
import time
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


def _does_nothing(*_args: Any, **_kwargs: Any) -> None:
    """Stand in for the step that is left out."""


@contextmanager
def nothing(ctx: Any) -> Iterator[None]:
    """No fault: the ordinary scenario."""
    yield


@contextmanager
def norm_gradients_not_summed(ctx: Any) -> Iterator[None]:
    """Gradients of sequence-parallel norms are not summed over tensor parallel ranks."""
    from megatron.core.distributed import finalize_model_grads as module_or_function

    module = _module("megatron.core.distributed.finalize_model_grads", module_or_function)
    with mock.patch.object(module, "_allreduce_non_tensor_model_parallel_grads", _does_nothing):
        yield


@contextmanager
def tied_embedding_not_summed(ctx: Any) -> Iterator[None]:
    """The tied embedding's gradients are not summed over the first and the last pipeline stage."""
    from megatron.core.distributed import finalize_model_grads as module_or_function

    module = _module("megatron.core.distributed.finalize_model_grads", module_or_function)
    with mock.patch.object(module, "_allreduce_word_embedding_grads", _does_nothing):
        yield


@contextmanager
def data_parallel_reduction_skipped(ctx: Any) -> Iterator[None]:
    """Gradients are not averaged over data parallel ranks (the scaling still happens)."""
    from megatron.core.distributed import param_and_grad_buffer

    bucket_group = param_and_grad_buffer._ParamAndGradBucketGroup
    real = torch.distributed.all_reduce

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        with mock.patch.object(torch.distributed, "all_reduce", _does_nothing):
            original(self, *args, **kwargs)
        self.grad_reduce_handle = None

    original = bucket_group.start_grad_sync
    with mock.patch.object(bucket_group, "start_grad_sync", start):
        yield
    assert torch.distributed.all_reduce is real


@contextmanager
def gradients_scaled_twice(ctx: Any) -> Iterator[None]:
    """The average over data parallel ranks is taken twice."""
    original = megatron_model.MegatronModel.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        for chunk in self.chunks:
            for group in chunk.bucket_groups:
                for bucket in group.buckets:
                    bucket.gradient_scaling_factor /= self.layout.dp

    with mock.patch.object(megatron_model.MegatronModel, "__init__", init):
        yield


def _module_hook(name_end: str, on_rank: int, change: Callable[[torch.nn.Module], Any]) -> Any:
    """Return a fault that changes one module of one rank once the model is built."""

    @contextmanager
    def fault(ctx: Any) -> Iterator[None]:
        original = megatron_model.MegatronModel.__init__

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if ctx.rank == on_rank:
                change(next(module for name, module in self.named_modules() if name.endswith(name_end)))

        with mock.patch.object(megatron_model.MegatronModel, "__init__", init):
            yield

    return fault


def _nan_output(module: torch.nn.Module) -> None:
    calls = []

    def spoil(_module: Any, _inputs: Any, output: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:  # the second microbatch
            output[0].detach().view(-1)[0] = float("nan")

    module.register_forward_hook(spoil)


def _nan_gradient(module: torch.nn.Module) -> None:
    def spoil(_module: Any, _inputs: Any, output: Any) -> None:
        def make_nan(gradient: torch.Tensor) -> torch.Tensor:
            gradient = gradient.clone()
            gradient.view(-1)[0] = float("nan")
            return gradient

        output[0].register_hook(make_nan)

    module.register_forward_hook(spoil)


@contextmanager
def one_element_wrong(ctx: Any) -> Iterator[None]:
    """One element of one gradient is changed on one rank after synchronisation."""
    original = megatron_model.MegatronModel.forward_backward

    def forward_backward(self: Any, microbatches: Any) -> Any:
        result = original(self, microbatches)
        if ctx.rank == 3:
            parameter = next(p for n, p in self._parameters_now().items() if n.endswith("layers.2.mlp.linear_fc2.weight"))
            parameter.main_grad[5, 7] += 1e-3
        return result

    with mock.patch.object(megatron_model.MegatronModel, "forward_backward", forward_backward):
        yield


def _changed_step(change: Callable[[Any, Any, int, Any], Any]) -> Any:
    """Return a fault around the optimizer step: ``change(ctx, model, number of the step, result)`` returns the result."""

    @contextmanager
    def fault(ctx: Any) -> Iterator[None]:
        original = megatron_model.MegatronModel.optimizer_step
        count = [0]

        def step(self: Any) -> Any:
            result = change(ctx, self, count[0], lambda: original(self))
            count[0] += 1
            return result

        with mock.patch.object(megatron_model.MegatronModel, "optimizer_step", step):
            yield

    return fault


def _one_weight_not_updated(ctx: Any, model: Any, number: int, step: Callable[[], Any]) -> Any:
    parameter = next(p for n, p in model._parameters_now().items() if n.endswith("layers.1.self_attention.linear_proj.weight"))
    before = parameter.detach().clone()
    result = step()
    parameter.data.copy_(before)
    return result


def _replica_drifts(ctx: Any, model: Any, number: int, step: Callable[[], Any]) -> Any:
    result = step()
    if ctx.rank == 2:
        parameter = next(p for n, p in model._parameters_now().items() if n.endswith("linear_fc1.weight"))
        parameter.data.view(-1)[0] *= 1 + 2.0**-52
    return result


def _second_step_lost(ctx: Any, model: Any, number: int, step: Callable[[], Any]) -> Any:
    before = {name: parameter.detach().clone() for name, parameter in model._parameters_now().items()}
    result = step()
    if number == 1:
        for name, parameter in model._parameters_now().items():
            parameter.data.copy_(before[name])
    return result


def _says_skipped(ctx: Any, model: Any, number: int, step: Callable[[], Any]) -> Any:
    from fixtures.stacks.protocol import OptimizerResult

    result = step()
    return OptimizerResult(False, result.grad_norm) if ctx.rank == 1 and number == 2 else result


@contextmanager
def norm_differs_on_a_stage(ctx: Any) -> Iterator[None]:
    """Ranks of the last pipeline stage clip by a larger gradient norm."""
    original = megatron_model.MegatronModel.optimizer_step

    def step(self: Any) -> Any:
        norm = self.optimizer.get_grad_norm

        def wrong() -> Any:
            return norm() * (1.25 if ctx.rank >= ctx.world // 2 else 1.0)

        with mock.patch.object(self.optimizer, "get_grad_norm", wrong):
            return original(self)

    with mock.patch.object(megatron_model.MegatronModel, "optimizer_step", step):
        yield


@contextmanager
def loss_off_on_one_rank(ctx: Any) -> Iterator[None]:
    """The reported loss of one rank is off by a thousandth; gradients are right."""
    original = megatron_model.MegatronModel.forward_backward

    def forward_backward(self: Any, microbatches: Any) -> Any:
        result = original(self, microbatches)
        return [(total * 1.001, tokens) for total, tokens in result] if ctx.rank == ctx.world - 2 else result

    with mock.patch.object(megatron_model.MegatronModel, "forward_backward", forward_backward):
        yield


@contextmanager
def tokens_counted_twice(ctx: Any) -> Iterator[None]:
    """A data parallel rank trains on its first microbatch twice."""
    original = megatron_model.MegatronModel.forward_backward

    def forward_backward(self: Any, microbatches: Any) -> Any:
        return original(self, [*microbatches, microbatches[0]])

    with mock.patch.object(megatron_model.MegatronModel, "forward_backward", forward_backward):
        yield


@contextmanager
def shard_missing(ctx: Any) -> Iterator[None]:
    """One rank forgets one shard."""
    original = megatron_model.shards_of

    def forgetful(chunks: Any) -> Any:
        shards = original(chunks)
        return shards[1:] if ctx.rank % 2 else shards

    with mock.patch.object(megatron_model, "shards_of", forgetful):
        yield


@contextmanager
def groups_in_another_order(ctx: Any) -> Iterator[None]:
    """The process groups are made with data parallel ranks before context parallel ones."""
    from megatron.core import parallel_state

    original = parallel_state.initialize_model_parallel

    def other_order(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs, order="tp-ep-dp-cp-pp")

    with mock.patch.object(parallel_state, "initialize_model_parallel", other_order):
        yield


def _in_second_forward(action: Callable[[Any], None], on_rank: int) -> Any:
    """Return a fault that happens to one rank in its second microbatch, in the middle of a step."""

    def change(module: torch.nn.Module) -> None:
        calls = []

        def act(_module: Any, _inputs: Any, _output: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                action(module)

        module.register_forward_hook(act)

    return _module_hook("layers.1.mlp", on_rank, change)


def _kill(_module: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleep(_module: Any) -> None:
    _asleep_for_ever()


def _asleep_for_ever() -> None:
    while True:
        time.sleep(3600)


def _raise(_module: Any) -> None:
    print("this rank is about to raise")
    raise ValueError("planted on one rank")


def _module(name: str, fallback: Any) -> Any:
    import sys

    return sys.modules.get(name, fallback)


FAULTS: dict[str, Any] = {
    "nothing": nothing,
    "norm_gradients_not_summed": norm_gradients_not_summed,
    "tied_embedding_not_summed": tied_embedding_not_summed,
    "data_parallel_reduction_skipped": data_parallel_reduction_skipped,
    "gradients_scaled_twice": gradients_scaled_twice,
    "nan_in_forward": _module_hook("layers.3.mlp", 2, _nan_output),
    "nan_in_backward": _module_hook("layers.2.mlp", 1, _nan_gradient),
    "one_element_wrong": one_element_wrong,
    "one_weight_not_updated": _changed_step(_one_weight_not_updated),
    "replica_drifts": _changed_step(_replica_drifts),
    "second_step_lost": _changed_step(_second_step_lost),
    "says_skipped": _changed_step(_says_skipped),
    "norm_differs_on_a_stage": norm_differs_on_a_stage,
    "loss_off_on_one_rank": loss_off_on_one_rank,
    "tokens_counted_twice": tokens_counted_twice,
    "shard_missing": shard_missing,
    "groups_in_another_order": groups_in_another_order,
    "killed": _in_second_forward(_kill, 3),
    "asleep": _in_second_forward(_sleep, 1),
    "raises": _in_second_forward(_raise, 2),
}
