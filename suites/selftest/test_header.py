"""The header says what will run, and on what, before anything starts."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]


def _header(*arguments: str) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "fixtures.plugin.header",
        "-p",
        "no:cacheprovider",
        "--collect-only",
    ]
    done = subprocess.run(
        [*command, "suites/training_step/test_rank_groups.py", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [line.removeprefix("meshgate: ") for line in done.stdout.splitlines() if line.startswith("meshgate: ")]


def test_one_case():
    first, second, third = _header(
        "-m", "multinode", "--layout=tp2pp2cp2dp2", "--precision=float32", "--rank-timeout=12.5"
    )
    assert first == "1 case on up to 16 ranks: llama; float32; adam; tp2pp2cp2dp2"
    versions = f"megatron-core {metadata.version('megatron-core')}, torch {metadata.version('torch')}"
    assert second.startswith(f"ranks run {versions} under {sys.executable}; ")
    assert third == "rank time-out 12.5 s, seed 1234"


def test_many_cases_are_counted():
    first = _header(
        "--layout=all16", "--architecture=llama", "--architecture=gpt-tied", "--precision=float64", "--seed=3"
    )[0]
    assert first.startswith("70 cases on up to 16 ranks: llama, gpt-tied; float64; adam; ")
    assert first.endswith(" and 29 more")


def test_an_environment_without_a_stack(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    second = _header(f"--stack-python={python}", "--precision=float64")[1]
    assert second.startswith(f"ranks run megatron-core not installed, torch not installed under {python}; ")


@pytest.mark.parametrize("arguments", [("-m", "selftest"), ("-m", "not multinode"), ("--layout=tp3",), ("-m", "((")])
def test_silent_where_no_case_can_run(arguments):
    assert _header(*arguments) == []
