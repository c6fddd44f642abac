"""From evidence to verdicts: what is usable, and if not, why, and with which setting the stack does without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

EFFICIENT_OFF = "use_mamba_mem_eff_path=False (--disable-mamba-mem-eff-path)"
CONVOLUTION_OFF = "pip uninstall causal-conv1d"
# The name of the row that has the verdict on all paths.
ALL = "state space layers"
STAND_IN = "stand-in, the real library is untested here"


@dataclass(frozen=True)
class Verdict:
    """Whether something is usable, and what there is to say: of what is not usable, the reason."""

    usable: bool
    said: str

    @property
    def words(self) -> str:
        """The verdict as a report shows it."""
        return self.said if self.usable else f"unusable: {self.said}"


def part_trouble(evidence: dict[str, Any], part: str) -> str | None:
    """Return what is wrong with the "forward" or the "backward" of one case or path, or None."""
    if evidence["raised"]:
        return f"raises {evidence['raised']}"
    names = [name for name in evidence["not_finite"] if name.startswith("gradient") == (part == "backward")]
    if names:
        return f"not finite: {', '.join(names)}"
    row = evidence[part]
    if row is not None and not row["measured"] <= row["tolerance"]:
        word = "wrong result" if part == "forward" else "wrong gradient"
        return f"{word}: {row['of']} is off by {row['measured']:.2g}, tolerance {row['tolerance']:.2g}"
    return None


def trouble(evidence: dict[str, Any]) -> str | None:
    """Return what is wrong with one case or path, the forward pass first; None if nothing is."""
    return part_trouble(evidence, "forward") or part_trouble(evidence, "backward")


def numbers(evidence: dict[str, Any], part: str) -> dict[str, float | None]:
    """Return the measured difference and its tolerance, for a report."""
    row = evidence.get(part) or {}
    return {"measured": row.get("measured"), "tolerance": row.get("tolerance")}


def used(evidence: dict[str, Any]) -> float | None:
    """Return the largest part of a tolerance that was used, or None where nothing could be compared."""
    rows = [evidence.get(part) for part in ("forward", "backward")]
    parts = [row["measured"] / row["tolerance"] for row in rows if row is not None and row["tolerance"]]
    return max(parts, default=None)


def library(name: str, facts: dict[str, Any], evidence: dict[str, Any]) -> Verdict:
    """Return the verdict on a library by itself; ``evidence`` is that of its cases."""
    if "died" in facts:
        return Verdict(False, f"importing it ends the process: {facts['died']}")
    found = facts[name]
    if not found["installed"]:
        return Verdict(False, "not installed")
    if (error := found["error"]) is not None:
        if error["symbols"]:
            rebuild = f"pip install --force-reinstall --no-deps --no-build-isolation --no-binary {name} {name}"
            return Verdict(
                False,
                f"{error['module']} lacks the symbol {', '.join(error['symbols'])}: its extension is built against another "
                f"torch than {facts['torch']}; rebuild it: {rebuild}",
            )
        return Verdict(False, f"importing {error['module']} raises {error['type']}: {error['message']}")
    if why := cases_trouble(evidence):
        return Verdict(False, why)
    said = STAND_IN if found["stand_in"] else "usable"
    if old := [row["specifier"] for row in found["asked"] if not row["ok"]]:
        said += f", but it is version {found['version']} where megatron-core asks for {', '.join(old)}"
    return Verdict(True, said)


def cases_trouble(evidence: dict[str, Any]) -> str | None:
    """Return what is wrong with the first case that is not right, and how many there are; None if all are."""
    if "died" in evidence:
        return f"running it ends the process: {evidence['died']}"
    troubles = {case: why for case, row in evidence.items() if case != "stride-rule" and (why := trouble(row))}
    if not troubles:
        return None
    case, why = next(iter(troubles.items()))
    return f"{why} ({case}; {len(troubles)} of {len(evidence)} cases)"


def part_of(scan: dict[str, Any], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the cases of mamba-ssm whose names begin so."""
    return scan if "died" in scan else {name: row for name, row in scan.items() if name.startswith(kinds)}


# Path of the layer, whether causal-conv1d is there, the parts of mamba-ssm that it runs, and the setting that leads to it.
PATHS = (
    (
        "memory-efficient path with causal-conv1d",
        True,
        ("memory-efficient", "norm"),
        "use_mamba_mem_eff_path=True (the default)",
    ),
    ("chunk scan with causal-conv1d", True, ("scan", "norm"), EFFICIENT_OFF),
    ("chunk scan without causal-conv1d", False, ("scan", "norm"), f"{EFFICIENT_OFF} and {CONVOLUTION_OFF}"),
    ("memory-efficient path without causal-conv1d", False, ("norm",), CONVOLUTION_OFF),
)


def table(
    facts: dict[str, Any],
    convolution: dict[str, Any],
    scan: dict[str, Any],
    present: dict[str, Any],
    absent: dict[str, Any] | None,
) -> list[dict[str, str]]:
    """Return a row for each library and each path of the layer.

    ``convolution`` and ``scan`` are the evidence of the libraries' cases, ``present`` that of the layer with causal-conv1d as
    it is, ``absent`` with it switched off (None where that was not run).
    """
    conv = library("causal-conv1d", facts, convolution)
    # Through the memory-efficient path mamba-ssm is only as right as causal-conv1d.
    mamba = library("mamba-ssm", facts, scan if conv.usable else part_of(scan, ("scan", "norm")))
    rows = []
    for name, verdict in (("causal-conv1d", conv), ("mamba-ssm", mamba)):
        found = facts.get(name, {})
        asked = ", ".join(row["specifier"] for row in found.get("asked", []))
        version = f"{found.get('version') or '-'}{f' (asked for: {asked})' if asked else ''}"
        rows.append(_row(name, verdict.words, "", None, version))
    loads = "died" not in facts and facts["mamba-ssm"]["installed"] and facts["mamba-ssm"]["error"] is None
    stand_in = "died" not in facts and facts["mamba-ssm"]["stand_in"]
    for name, with_conv, kinds, setting in PATHS:
        mixer = present if with_conv else absent
        if mixer is None:
            continue
        wrong, part = _path(mixer, name.split(" with")[0].removesuffix(" path"))
        of_mamba = cases_trouble(part_of(scan, kinds)) if loads else mamba.said
        if with_conv and not conv.usable:
            words = f"unusable: causal-conv1d: {conv.said}"
        elif of_mamba:
            words = f"unusable: mamba-ssm: {of_mamba}"
        elif wrong:
            words = f"unusable: the layer: {wrong}"
        else:
            words = f"usable ({STAND_IN})" if stand_in else "usable"
        rows.append(_row(name, words, setting, part, ""))
    return rows


def _path(mixer: dict[str, Any], name: str) -> tuple[str | None, float | None]:
    """Return what is wrong with a path of the layer, and the largest part of a tolerance that it used."""
    if "died" in mixer:
        return f"ends the process: {mixer['died']}", None
    rows = {dtype: paths[name] for dtype, paths in mixer.items()}
    wrong = next((f"{why} ({dtype})" for dtype, row in rows.items() if (why := trouble(row))), None)
    return wrong, max((part for row in rows.values() if (part := used(row)) is not None), default=None)


def _row(name: str, verdict: str, setting: str, part: float | None, version: str) -> dict[str, str]:
    return {
        "library or path": name,
        "verdict": verdict,
        "setting": setting,
        "err/tol": "" if part is None else f"{part:.2g}",
        "version": version,
    }


def last_row(rows: list[dict[str, str]]) -> dict[str, str]:
    """Return the row with the verdict on all."""
    return _row(ALL, overall(rows).words, "", None, "")


def overall(rows: list[dict[str, str]]) -> Verdict:
    """Return which path to take: the fastest that is usable, with its setting."""
    words = {row["library or path"]: row["verdict"] for row in rows}
    fast, beside, without = (words.get(name, "") for name, *_ in PATHS[:3])
    if fast.startswith("usable"):
        return Verdict(True, f"fast path usable{fast.removeprefix('usable')}")
    why = f" ({fast.removeprefix('unusable: ')})"
    if beside.startswith("usable"):
        return Verdict(True, f"usable only off the memory-efficient path: set {EFFICIENT_OFF}{why}")
    if without.startswith("usable"):
        return Verdict(True, f"usable only without causal-conv1d: set {EFFICIENT_OFF} and {CONVOLUTION_OFF}{why}")
    return Verdict(False, f"no path of the layer is right{why}")
