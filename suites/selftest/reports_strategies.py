"""JUnit files and runs for tests of reports: written from outcomes, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

from reports.junit import Result, Run

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed")

_ENTRY = {
    "passed": "",
    "failed": "<failure message={}/>",
    "error": "<error message={}/>",
    "skipped": '<skipped type="pytest.skip" message={}/>',
    "xfailed": '<skipped type="pytest.xfail" message={}/>',
    "unfinished": '<skipped type="meshgate.unfinished" message={}/>',
}


def result(layout: str, check: str, outcome: str, message: str = "why", **own: str) -> Result:
    """Return a check of a case, as suites report it."""
    case = f"llama-{layout}-float64-adam"
    stated = {
        "case": case,
        "architecture": "llama",
        "layout": layout,
        "precision": "float64",
        "optimizer": "adam",
        "check": check,
    }
    return Result(f"test_{check}[{case}]", outcome, "" if outcome == "passed" else message, 0.0, stated | own)


def write(path: Path, results: Iterable[Result], properties: Mapping[str, str] | None = None) -> Path:
    """Write results as a JUnit file."""
    cases = "".join(
        f"<testcase name={quoteattr(r.name)} time={quoteattr(str(r.seconds))}>{_block(r.own)}"
        f"{_ENTRY[r.outcome].format(quoteattr(r.message))}</testcase>"
        for r in results
    )
    text = f'<testsuites><testsuite name="meshgate">{_block(properties or {})}{cases}</testsuite></testsuites>'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _block(properties: Mapping[str, str]) -> str:
    entries = "".join(f"<property name={quoteattr(n)} value={quoteattr(v)}/>" for n, v in properties.items())
    return f"<properties>{entries}</properties>" if entries else ""


_NUMBERS = st.sampled_from(["0.0", "1e-09", "0.25", "0.75", "1.0", "nan", "inf", "much"])


ANY_OUTCOME = st.sampled_from([*OUTCOMES, "unfinished"])


@st.composite
def results(draw: st.DrawFn, outcome: st.SearchStrategy[str] = ANY_OUTCOME) -> Result:
    """A check of one of six cases, with numbers or without."""
    own = draw(st.fixed_dictionaries({}, optional={"measured": _NUMBERS, "tolerance": _NUMBERS, "seconds": _NUMBERS}))
    layout, check = draw(st.sampled_from(["tp2", "pp2", "dp4"])), draw(st.sampled_from(["loss", "norm", "weights", "sync"]))
    made = result(layout, check, draw(outcome), **own)
    if draw(st.booleans()):
        return made
    # Files of other tools: no properties at all.
    return Result(made.name, made.outcome, made.message, 1.5)


def runs(outcome: st.SearchStrategy[str] = ANY_OUTCOME) -> st.SearchStrategy[Run]:
    """Runs in which each test has one result."""
    many = st.lists(results(outcome), max_size=10, unique_by=lambda r: r.name)
    return st.builds(Run, many, st.just({"stack": "megatron-core"}))
