"""Packages written into a folder, to be found there first by the ranks: the libraries broken in known ways, or switched off.

They are real packages and are imported as the libraries are; what is right in them comes from fixtures/state_space.
"""

from __future__ import annotations

from pathlib import Path

# What switches causal-conv1d off: megatron-core takes torch's convolution where importing it raises ImportError.
SWITCHED_OFF = 'raise ImportError("causal-conv1d is switched off")\n'

_CONVOLUTION = """
import torch
from fixtures.state_space.conv import causal_conv1d_fn as right, causal_conv1d_update
__version__ = "1.5.3"
def changed(x, *args, **kwargs):
    result = right(x, *args, **kwargs)
    return (change(result[0]), *result[1:]) if isinstance(result, tuple) else change(result)
causal_conv1d_fn = changed
"""
_VARLEN = "from fixtures.state_space.conv import causal_conv1d_varlen_states\n"
# Forward as it was, backward one per cent too much.
_GRADIENT = "result + 0.01 * (result - result.detach())"

_NO_LIBRARY = "libcudart.so.12: cannot open shared object file: No such file or directory"
_CAST = "undefined symbol: _ZN3c104cuda9SetDeviceEab"

CAUSAL_CONV1D = {
    "import error": {"causal_conv1d/__init__.py": f"raise ImportError({_NO_LIBRARY!r})\n"},
    "missing symbol": {
        "causal_conv1d/__init__.py": "import causal_conv1d_cuda\n",
        "causal_conv1d_cuda.py": f'raise ImportError("causal_conv1d_cuda.cpython-311-x86_64-linux-gnu.so: {_CAST}")\n',
    },
    "wrong result": {
        "causal_conv1d/__init__.py": _CONVOLUTION + "def change(result): return torch.roll(result, 1, 2)\n",
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    "not a number": {
        "causal_conv1d/__init__.py": _CONVOLUTION
        + "def change(result): return torch.where(torch.arange(result.shape[2]) == result.shape[2] - 1, torch.nan, result)\n",
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    "wrong gradient": {
        "causal_conv1d/__init__.py": _CONVOLUTION + f"def change(result): return {_GRADIENT}\n",
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    "refuses": {
        "causal_conv1d/__init__.py": _CONVOLUTION
        + 'def change(result): raise RuntimeError("no kernel image is available for execution on the device")\n',
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    # As the library does it.
    "stride rule": {
        "causal_conv1d/__init__.py": _CONVOLUTION + "def causal_conv1d_fn(x, *args, **kwargs):\n"
        "    if x.stride(1) == 1 and (x.stride(0) % 8 or x.stride(2) % 8):\n"
        '        raise RuntimeError("causal_conv1d with channel last layout requires strides to be multiples of 8")\n'
        "    return right(x, *args, **kwargs)\n",
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    "too old": {
        "causal_conv1d/__init__.py": _CONVOLUTION.replace("1.5.3", "1.1.0") + "def change(result): return result\n",
        "causal_conv1d/causal_conv1d_varlen.py": _VARLEN,
    },
    "ends the process": {"causal_conv1d/__init__.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"},
}

_MAMBA = {
    "mamba_ssm/__init__.py": '__version__ = "2.2.6"\n',
    "mamba_ssm/ops/__init__.py": "",
    "mamba_ssm/ops/triton/__init__.py": "",
    "mamba_ssm/ops/triton/layernorm_gated.py": "from fixtures.state_space.norm import RMSNorm, rmsnorm_fn\n",
    "mamba_ssm/ops/triton/selective_state_update.py": "from fixtures.state_space.update import selective_state_update\n",
}
_SCAN = "mamba_ssm/ops/triton/ssd_combined.py"
_SCANS = """
import torch
from causal_conv1d import causal_conv1d_fn
from fixtures.state_space import fused, scan
def mamba_chunk_scan_combined(*args, **kwargs):
    result = scan.mamba_chunk_scan_combined(*args, **kwargs)
    return (change(result[0]), *result[1:]) if isinstance(result, tuple) else change(result)
right = fused.memory_efficient_path(causal_conv1d_fn)
def mamba_split_conv1d_scan_combined(*args, **kwargs): return change_path(right(*args, **kwargs))
def change(result): return result
def change_path(result): return result
"""

MAMBA_SSM = {
    "import error": {"mamba_ssm/__init__.py": f"raise ImportError({_NO_LIBRARY!r})\n"},
    "missing symbol": {
        "mamba_ssm/__init__.py": "import selective_scan_cuda\n",
        "selective_scan_cuda.py": f'raise ImportError("selective_scan_cuda.cpython-311-x86_64-linux-gnu.so: {_CAST}")\n',
    },
    "wrong result": {**_MAMBA, _SCAN: _SCANS + "def change(result): return 1.01 * result\nchange_path = change\n"},
    "not a number": {**_MAMBA, _SCAN: _SCANS + "def change(result): return result / 0\nchange_path = change\n"},
    # Only in the memory-efficient path: the other one stays usable.
    "wrong gradient": {**_MAMBA, _SCAN: _SCANS + f"def change_path(result): return {_GRADIENT}\n"},
}  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write the files of a package into the folder; returns the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
