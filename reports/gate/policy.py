"""What the gate rejects, and from where on a difference counts: the defaults, and TOML files that change them."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any


class UnusablePolicy(ValueError):
    """The policy can't be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Reject:
    """What rejects a candidate; what does not is shown only. New failures and incomplete candidates always reject."""

    missing: bool = True  # a test of the baseline has no result
    not_run: bool = True  # a test that had a result is skipped now
    newly_known: bool = True  # a test that passed is an expected failure now
    incomplete_baseline: bool = True  # it can't tell what is missing
    beyond_tolerance: bool = True  # passes, with an error beyond the tolerance that the baseline had
    still_failing: bool = False
    tolerance: bool = False  # a tolerance changed
    error: bool = False  # an error grew, within its tolerance
    slower: bool = False
    memory: bool = False
    versions: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on a number counts as changed. A slow-down or growth has to be beyond its ratio and its floor."""

    tolerance_ratio: float = 2.0
    error_ratio: float = 10.0
    error_floor: float = 1e-6  # of the tolerance: smaller errors are rounding, and may grow by any factor
    time_ratio: float = 1.5
    time_floor_seconds: float = 2.0
    memory_ratio: float = 1.2
    memory_floor_mib: float = 64.0


@dataclass(frozen=True, slots=True)
class Policy:
    """Both tables of a policy file."""

    reject: Reject = field(default_factory=Reject)
    limits: Limits = field(default_factory=Limits)


def read_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        UnusablePolicy: it can't be read, is no TOML, or says something that is not known.
    """
    try:
        data = tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise UnusablePolicy(f"{path}: no such file; leave --policy out for the defaults") from None
    except OSError as error:
        raise UnusablePolicy(f"{path}: can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise UnusablePolicy(f"{path}: not a TOML file: {' '.join(str(error).split())}") from None
    for name, value in data.items():
        if name not in ("reject", "limits"):
            raise UnusablePolicy(f"{path}: {_unknown(name, ('reject', 'limits'), 'table')}")
        if not isinstance(value, dict):
            raise UnusablePolicy(f"{path}: {name} must be a table: write [{name}]")
    return Policy(
        Reject(**_checked(path, "reject", data.get("reject", {}), Reject)),
        Limits(**_checked(path, "limits", data.get("limits", {}), Limits)),
    )


def _checked(path: Path, table: str, found: dict[str, Any], kind: type) -> dict[str, Any]:
    known = {entry.name for entry in fields(kind)}
    for name, value in found.items():
        where = f"{path}: [{table}]"
        if name not in known:
            raise UnusablePolicy(f"{where} {_unknown(name, sorted(known), 'key')}")
        if kind is Reject and not isinstance(value, bool):
            raise UnusablePolicy(f"{where} {name} must be true or false, not {value!r}")
        if kind is Limits:
            least = 1 if name.endswith("_ratio") else 0
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
                raise UnusablePolicy(f"{where} {name} must be a number, {least} or larger, not {value!r}")
    return found


def _unknown(name: str, known: Iterable[str], what: str) -> str:
    """Return words for a name that is not known, with the nearest one that is."""
    if name in ("new_failures", "failures", "incomplete"):
        return f"{name}: there is no such key: new failures and incomplete candidates always reject"
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"{name}: no such {what}; {f'did you mean {near[0]}?' if near else 'known are ' + ', '.join(known)}"
