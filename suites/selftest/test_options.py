"""Wrong options are one line and exit code 4, with nothing started; collection is quick and knows no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.selftest


@pytest.fixture
def collect(request, tmp_path):
    """Run ``pytest --collect-only`` with options; returns the finished process."""

    def run(*options, only_collect=True):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "multinode"]
        # "--option=PATH": pytest takes a path that stands alone for one to collect, before it knows of our options.
        options = [f"{name}={value}" for name, value in zip(options[::2], options[1::2], strict=True)]
        return subprocess.run(
            [*command, *(["--collect-only"] if only_collect else []), f"--reports-dir={tmp_path}", *options],
            cwd=request.config.rootpath, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--layout", "tp0"], "--layout tp0: tp0: a degree is 1 or more; write tp1, or leave tp out"),
        (["--layout", "tp2tp2"], "--layout tp2tp2: tp is there twice; write it once"),
        (["--layout", "xp2"], "no such axis; did you mean tp2,"),
        (["--layout", "tp2pp"], "the degree of pp is missing; write pp2"),
        (["--layout", "dp128"], "--layout dp128 can't run llama: it needs 128 ranks and 64 are available"),
        (["--layout", "tp3"], "tp=3 does not divide 16 attention heads; use tp2"),
        (["--layout", "cp5"], "use cp4, or a sequence of 40 tokens"),
        (["--layout", "pp3"], "pp=3 does not divide 8 layers; use pp3@3+3+2"),
        (["--layout", "ep2dp2"], "ep=2 needs experts, and the model has none; leave ep out"),
        (["--layout", "zero3dp4"], "zero3 is a DeepSpeed layout"),
        (["--architecture", "lama"], "--architecture lama: unknown; did you mean llama?"),
        (["--precision", "flot64"], "--precision flot64: unknown; did you mean float64?"),
        (["--precision", "fp8"], "--precision fp8: unknown; known: float64, float32, bfloat16"),
        (["--optimizer", "adm"], "did you mean adam?"),
        (["--stack", "megatron"], "did you mean megatron-core?"),
        (["--model-class", "gtp"], "did you mean gpt?"),
        (["--stack-python", "/no/such/python"], "--stack-python /no/such/python: no such interpreter"),
        (["--rank-timeout", "0"], "use seconds above 0"),
    ],
)
@pytest.mark.parametrize("only_collect", [True, False], ids=["collect", "run"])
def test_wrong_values_are_one_line_and_exit_code_4(collect, options, words, only_collect):
    done = collect(*options, only_collect=only_collect)
    assert done.returncode == 4
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("ERROR: ")]
    assert len(said) == 1
    assert words in said[0]
    assert "Traceback" not in done.stdout + done.stderr


def test_ids_are_stable_and_readable(collect):
    done = collect("--layout", "dp2-tp2", "--optimizer", "distributed-overlap", "--precision", "bfloat16")
    assert done.returncode == 0
    assert (
        "suites/training_step/test_gradients.py::test_gradient_sync[llama-tp2dp2-bfloat16-distributed-overlap]"
        in done.stdout.splitlines()
    )


def test_sets_of_layouts_are_expanded(collect):
    done = collect("--layout", "all16", "--layout", "tp16")
    assert sum("test_coverage[" in line for line in done.stdout.splitlines()) == 35


def test_the_controller_imports_no_torch(request, tmp_path):
    plugin = tmp_path / "no_torch.py"
    plugin.write_text(
        "import sys\n"
        "def pytest_collection_finish(session):\n"
        "    assert session.items\n"
        "    print('torch and stack:', sorted({'torch', 'megatron'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no_torch", "--collect-only"],
        cwd=request.config.rootpath, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch and stack: []" in done.stdout
