"""--list-layouts: counts of parameters are the stack's own, and lists start nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import architectures
from fixtures.architectures import sizes
from fixtures.case import Case
from fixtures.layout import Layout
from fixtures.plugin.list_layouts import feasible, lines

pytestmark = pytest.mark.selftest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", architectures.names())
def test_elements_are_those_that_the_stack_has(gang_pool, name):
    case = Case("megatron-core", name, Layout(), "float32", "adam", "gpt", 1234)
    (rank,) = gang_pool.run("fixtures.scenarios.memory:run", 1, {"case": case.to_json()})
    dense, experts = sizes.rank_elements(case.model, case.layout)
    assert (rank["elements"], rank["expert_elements"]) == (dense + experts, experts)


@pytest.mark.parametrize(
    ("name", "text"),
    [("llama", "tp2pp2"), ("gpt-tied", "tp2pp2"), ("qwen3-moe", "dp2ep2"), ("nemotron-3-nano", "tp2dp2ep2etp1")],
)
def test_elements_of_the_fullest_rank(gang_pool, name, text):
    case = Case("megatron-core", name, Layout.parse(text), "float32", "adam", "gpt", 1234)
    ranks = gang_pool.run("fixtures.scenarios.memory:run", case.layout.world, {"case": case.to_json()})
    assert max(rank["elements"] for rank in ranks) == sum(sizes.rank_elements(case.model, case.layout))


@pytest.mark.parametrize(
    ("name", "billions"),
    # As their publishers round them.
    [("deepseek-v2-lite", 15.7), ("qwen3-moe", 30.5), ("nemotron-3-nano", 31.6)],
)
def test_published_sizes(name, billions):
    assert round(sizes.total_elements(architectures.get(name, "real")) / 1e9, 1) == billions


def test_bytes_of_a_known_case():
    # 90,656 parameters; a rank of tp2 has half of the matrices and all 17 norms of 32 elements.
    dense = (90656 - 17 * 32) // 2 + 17 * 32
    assert sizes.rank_bytes(architectures.get("llama"), Layout.parse("tp2dp4")) == {
        "weights": 2.0 * dense, "gradients": 4.0 * dense, "optimizer": 12.0 * dense / 4
    }  # fmt: skip
    whole = sizes.rank_bytes(architectures.get("llama"), Layout.parse("tp2dp4"), distributed=False)
    assert whole["optimizer"] == 12.0 * dense


def test_lists_have_what_can_run_and_least_first():
    model = architectures.get("deepseek-v2-lite")
    layouts = list(feasible(model, 16))
    assert Layout.parse("tp2pp2@14+13cp2dp2ep4etp1") in layouts
    assert [str(layout) for layout in layouts if layout.why_not(model)] == []
    text = list(lines(model, 16))
    assert text[0].endswith(f"{len(layouts)} layouts of 16 ranks")
    assert len(text) == 3 + len(layouts)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--list-layouts", "1024", "--architecture", "deepseek-v2-lite", "--scale", "real"], 0, "15,706,484,224 parameters"),
        (["--list-layouts", "0"], 4, "ERROR: --list-layouts 0: not a number of ranks; write one such as 16"),
        (
            ["--list-layouts", "16", "--architecture", "lama"],
            4,
            "ERROR: --architecture lama: architecture 'lama' is unknown; did",
        ),
    ],
)
def test_from_the_command_line(tmp_path, arguments, code, words):
    command = [sys.executable, "-m", "pytest", *arguments, f"--reports-dir={tmp_path}", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
