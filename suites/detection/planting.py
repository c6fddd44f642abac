"""Rank-side: plants a fault of the catalogue in the installed stack, runs a scenario, and takes the fault out again.

Torch and the stack are imported only where a fault is planted: the controller imports the same files for what they say.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from suites.detection.fault import load

# How often the code that was planted ran on this rank: a fault that is never reached shows nothing.
_reached = [0]


class NotPlanted(Exception):
    """The stack has not, or not any more, what a fault changes."""


def run(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"evidence": what the scenario returns, "reached": how often the planted code ran on this rank}``.

    Where this version of the stack has not what the fault needs, it is ``{"absent": why}``; where the fault can't be planted
    though it should, ``{"broken": why}``.
    ``params``: those of the scenario; ``scenario`` as "module:function"; ``fault``, the file, or None for a clean run.
    """
    module_name, function = params["scenario"].split(":")
    scenario = getattr(importlib.import_module(module_name), function)
    if params["fault"] is None:
        return {"evidence": scenario(ctx, params), "reached": 0}
    file = load(Path(params["fault"]))
    if file.FAULT.needs:
        try:
            owner_of(file.FAULT.needs)
        except NotPlanted as absent:
            return {"absent": str(absent)}
    _reached[0] = 0
    with ExitStack() as planted:
        try:
            planted.enter_context(file.plant(ctx))
        except NotPlanted as error:
            return {"broken": str(error)}
        evidence = scenario(ctx, params)
    return {"evidence": evidence, "reached": _reached[0]}


def reached() -> None:
    """Note that the planted code ran."""
    _reached[0] += 1


def tensors_in(received: Any) -> list[Any]:
    """Return the tensors of what a stage receives: one, a list of them, or None at an end of the pipeline."""
    return [tensor for tensor in (received if isinstance(received, list) else [received]) if tensor is not None]


class Done:
    """The handle of a collective that is done."""

    def wait(self) -> None:
        """Return at once."""


def does_nothing(_original: Callable[..., Any]) -> Callable[..., None]:
    """Return what stands for a step that is left out."""
    return lambda *_args, **_kwargs: None


def exchanged() -> bool:
    """Whether tokens go to experts on other ranks in this layout: only then can they be lost on their way."""
    from megatron.core import parallel_state

    return parallel_state.get_expert_model_parallel_world_size() > 1


def owner_of(target: str) -> tuple[Any, str]:
    """Return (module or class, name of the attribute) of ``package.module:name`` or ``package.module:Class.name``.

    Raises:
        NotPlanted: there is no such thing in this version of the stack.
    """
    module_name, _, path = target.partition(":")
    try:
        owner: Any = importlib.import_module(module_name)
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        getattr(owner, name)
    except (ImportError, AttributeError) as error:
        raise NotPlanted(f"{target} is not in this version of the stack: {error}") from None
    return owner, name


def there(*targets: str) -> str:
    """Return the first of these names that this version of the stack has.

    Raises:
        NotPlanted: it has none of them.
    """
    for target in targets[:-1]:
        try:
            owner_of(target)
        except NotPlanted:
            continue
        return target
    owner_of(targets[-1])
    return targets[-1]


@contextmanager
def replace(target: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Put ``make(original)`` in the place of a function or method, and count its calls."""
    owner, name = owner_of(target)
    original = getattr(owner, name)
    wrong = make(original)

    @functools.wraps(original)  # who calls it may ask for its signature
    def counted(*args: Any, **kwargs: Any) -> Any:
        reached()
        return wrong(*args, **kwargs)

    is_static = isinstance(vars(owner).get(name), staticmethod)
    with mock.patch.object(owner, name, staticmethod(counted) if is_static else counted):
        yield


def changed(target: str, change: Callable[..., Any]) -> Any:
    """Let a function of the stack run, and put ``change(its result, *its arguments)`` in the place of its result."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: change(original(*args, **kwargs), *args, **kwargs)

    return replace(target, make)


def with_collective(target: str, collective: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """Replace a collective of ``torch.distributed`` while a function of the stack runs, and only then.

    ``make(the collective)`` is called anew for each run of the function, so that it may count.
    """
    import torch.distributed

    def planted(original: Callable[..., Any]) -> Callable[..., Any]:
        def run_with_it(*args: Any, **kwargs: Any) -> Any:
            with mock.patch.object(torch.distributed, collective, make(getattr(torch.distributed, collective))):
                return original(*args, **kwargs)

        return run_with_it

    return replace(target, planted)


@contextmanager
def together(*faults: Any) -> Iterator[None]:
    """Plant several patches as one fault."""
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(fault)
        yield


@contextmanager
def once_built(change: Callable[[Any], Any]) -> Iterator[None]:
    """Change a model once the stack has built it: ``change(model)`` returns False where there is nothing to change."""
    from fixtures.stacks.megatron.model import MegatronModel

    original = MegatronModel.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if change(self) is not False:
            reached()

    with mock.patch.object(MegatronModel, "__init__", init):
        yield


def modules_of(model: Any, ending: str) -> list[Any]:
    """Return the local modules whose name ends so."""
    return [module for name, module in model.named_modules() if name.endswith(ending)]


def optimizers_of(model: Any) -> list[Any]:
    """Return the stack's optimizers of a model, those of chained ones apart."""
    return list(getattr(model.optimizer, "chained_optimizers", [model.optimizer]))


def buckets_of(model: Any) -> list[Any]:
    """Return the gradient buckets of a model, those of experts apart."""
    return [bucket for chunk in model.chunks for group in chunk.bucket_groups for bucket in group.buckets]
