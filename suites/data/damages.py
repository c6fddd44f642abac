"""Ways to damage a corpus's files, as parameters of a test.

The layout of an index: header 9 bytes, version 8, type of tokens 1, number of sequences 8,
of documents 8, then int32 lengths, int64 offsets, int64 documents (datasets/indexed_dataset.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fixtures.case import Case
from fixtures.layout import Layout
from suites.data.reading import TEXT

_TYPE, _COUNT, _LENGTHS = 17, 18, 34


@dataclass(frozen=True)
class Damage:
    """``change(bytes)`` of the file ``TEXT + suffix`` gives its bytes; None removes it."""

    name: str
    what: str
    suffix: str
    change: Callable[[bytes], bytes] | None

    @property
    def id(self) -> str:
        """A stable id."""
        return self.name

    @property
    def case(self) -> Case:
        """A case for known issues to match."""
        return Case("megatron-core", "llama", Layout(), "float64", "adam", "gpt", 1234)

    def make(self, whole: Path, folder: Path) -> None:
        """Copy a corpus, and damage it."""
        for suffix in (".idx", ".bin"):
            shutil.copy(whole / f"{TEXT}{suffix}", folder)
        file = folder / f"{TEXT}{self.suffix}"
        if self.change is None:
            file.unlink()
        else:
            file.write_bytes(self.change(file.read_bytes()))


def _put(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda old: old[:offset] + value + old[offset + len(value) :]


DAMAGES = [
    Damage("index-absent", "an index that is absent", ".idx", None),
    Damage("index-empty", "an empty index", ".idx", lambda old: b""),
    Damage("index-header", "an index with another header", ".idx", _put(0, b"X")),
    Damage("index-version", "an index of another version", ".idx", _put(9, b"\x09")),
    Damage("index-type", "an index with an unknown type of tokens", ".idx", _put(_TYPE, b"\x63")),
    Damage("index-truncated", "a truncated index", ".idx", lambda old: old[: len(old) // 2]),
    Damage("index-count", "an index with a wrong number of sequences", ".idx", _put(_COUNT, b"\xff\xff")),
    Damage("index-length-beyond", "an index with a length beyond the data", ".idx", _put(_LENGTHS, b"\xff\x7f")),
    Damage("index-length-flipped", "an index with a flipped bit in a length", ".idx",
           lambda old: _put(_LENGTHS, bytes([old[_LENGTHS] ^ 4]))(old)),
    Damage("data-absent", "data that is absent", ".bin", None),
    Damage("data-empty", "an empty data file", ".bin", lambda old: b""),
    Damage("data-truncated", "a truncated data file", ".bin", lambda old: old[: len(old) // 2]),
]  # fmt: skip
