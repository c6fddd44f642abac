"""The header says what will run, and on what, before anything starts."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata

import pytest

from fixtures.plugin.header import pytest_report_header
from fixtures.plugin.wiring import ASKED_FOR

pytestmark = pytest.mark.selftest


class _Config:
    """Options as pytest gives them, without a run."""

    def __init__(self, **options: object) -> None:
        self.stash = pytest.Stash()
        self._options = {
            "--layout": None,
            "--architecture": None,
            "--precision": ["float64"],
            "--optimizer": None,
            "--model-class": None,
            "--stack": "megatron-core",
            "--stack-python": sys.executable,
            "--rank-timeout": 60.0,
            "--available-ranks": 64,
            "--seed": 1234,
            "--scale": "small",
            "markexpr": "",
        } | {name if name == "markexpr" else f"--{name.replace('_', '-')}": value for name, value in options.items()}

    def getoption(self, name: str, default: object = None) -> object:
        return self._options.get(name, default)


def _header(**options: object) -> list[str]:
    return [line.removeprefix("meshgate: ") for line in pytest_report_header(_Config(**options))]


def test_one_case():
    options = {"layout": ["tp2pp2cp2dp2"], "precision": ["float32"], "rank_timeout": 12.5}
    first, asked, second, third, fourth = _header(markexpr="multinode", **options)
    assert first == "1 case on up to 16 ranks: llama; float32; adam; tp2pp2cp2dp2"
    others = ", ".join(ASKED_FOR)
    assert asked == f'suites not asked for: {others}; each runs with -m "multinode and {ASKED_FOR[0]}"'
    versions = f"megatron-core {metadata.version('megatron-core')}, torch {metadata.version('torch')}"
    assert second == f"ranks run {versions} under {sys.executable}"
    assert third.startswith("the CPU stand-in is on where torch sees no GPU; GPUs on this machine: ")
    assert fourth == "rank time-out 12.5 s, seed 1234"


def test_many_cases_are_counted():
    first = _header(layout=["all16"], architecture=["llama", "gpt-tied"])[0]
    assert first.startswith("70 cases on up to 16 ranks: llama, gpt-tied; float64; adam; ")
    assert first.endswith(" and 29 more")


def test_an_environment_without_a_stack(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S "$@"\n')
    python.chmod(0o755)
    second = _header(stack_python=str(python))[1]
    assert second == f"ranks run megatron-core not installed, torch not installed under {python}"


@pytest.mark.parametrize(
    "options",
    [{"markexpr": "selftest"}, {"markexpr": "not multinode"}, {"markexpr": "(("}, {"layout": ["tp3"]}],
    ids=str,
)
def test_silent_where_no_case_can_run(options):
    assert _header(**options) == []


def test_published_split_is_told():
    lines = _header(layout=["tp2pp2cp2dp2ep4"], architecture=["deepseek-v2-lite"])
    assert "deepseek-v2-lite on tp2pp2cp2dp2ep4 runs as tp2pp2@14+13cp2dp2ep4, the split that is published" in lines


def test_layouts_of_a_set_that_an_architecture_can_not_run_are_left_out_and_told():
    lines = _header(layout=["smoke"], architecture=["qwen3-moe"])
    assert lines[0].startswith("7 cases on up to 16 ranks: qwen3-moe; ")
    assert "left out: qwen3-moe on tp2cp2dp4nosp: experts with tp=2 need sequence parallelism; leave nosp out" in lines
