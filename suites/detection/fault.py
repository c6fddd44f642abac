"""What the catalogue says of a fault, and how its files are found. No torch: the controller reads this too."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

CATALOGUE = Path(__file__).parent / "catalogue"


@dataclass(frozen=True, slots=True)
class On:
    """Where a fault shows: the case it is planted in. ``more`` are further fields of :class:`fixtures.case.Case`."""

    layout: str
    architecture: str = "llama"
    precision: str = "float64"
    optimizer: str = "adam"
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """One class of faults.

    ``wrong``: what is wrong, in one sentence. ``reference``: where such a fault was reported, or "".
    ``caught_by``: the checks that must all fail. ``module``: a pattern (fnmatch) of the module that a finding of these must
    name, or None where the fault is not one of a module; ``axis``: the axis that the same finding must name, or None;
    ``says``: words that it must say. ``kind`` is one of :data:`suites.detection.kinds.KINDS`: what is run, with ``options``.
    ``short``: also in the short run. ``gap``: why the diagnosis can't name the place, where it can't; once it can, the test
    asks for the reason to go. ``needs``: what a version of the stack must have, as "module:name"; "" for all.
    """

    area: str
    wrong: str
    on: On
    caught_by: tuple[str, ...]
    module: str | None = None
    axis: str | None = None
    says: tuple[str, ...] = ()
    reference: str = ""
    kind: str = "step"
    short: bool = False
    gap: str = ""
    needs: str = ""
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A fault of the catalogue: its name, which is its file's, and the file."""

    name: str
    path: Path
    fault: Fault


def load(path: Path) -> ModuleType:
    """Return the module of a fault's file. Names of files have hyphens, so that no import statement can name them."""
    name = f"fault of the catalogue: {path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def catalogue() -> list[Entry]:
    """Return every fault, those with the same model and the same number of ranks one after the other."""
    entries = [Entry(path.stem, path, load(path).FAULT) for path in sorted(CATALOGUE.glob("*/*.py"))]
    return sorted(entries, key=lambda entry: (entry.path.parent.name, entry.name))
