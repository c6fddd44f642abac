"""pytest hooks for reports: a JUnit file and a Markdown summary for each run, a header, a table and a verdict."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from reports import table
from reports.junit import RUN_PROPERTIES, Result, UnusableReport, read
from reports.summary import headline, markdown

_FOLDER = pytest.StashKey[Path]()
_RUN = pytest.StashKey["Collected"]()


class Collected:
    """What the controller saw: one result for each test, and the properties that all tests share."""

    def __init__(self) -> None:
        self.constants: dict[str, set[str]] = {}
        self.results: list[Result] = []
        self.interrupted = False

    def add(self, report: pytest.TestReport) -> None:
        """Take in a report of the phase that decides: the call, or a set-up or tear-down that did not pass."""
        if report.when != "call" and report.outcome == "passed":
            return
        properties = {str(name): str(value) for name, value in report.user_properties}
        for name in RUN_PROPERTIES:
            if name in properties:
                self.constants.setdefault(name, set()).add(properties[name])
        outcome = str(report.outcome)
        if hasattr(report, "wasxfail"):
            outcome = "xfailed"
        elif outcome == "failed" and report.when != "call":
            # A fixture that fails with a finding (the case did not complete) is the check's own failure.
            outcome = "failed" if "check" in properties or "case" in properties else "error"
        self.results.append(Result(report.nodeid, outcome, "", report.duration, properties))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the run's folder, and have pytest write its JUnit file there unless the user named one."""
    if hasattr(config, "workerinput") or _only_asks(config):
        return
    folder = Path(config.getoption("--reports-dir", "reports/out"))
    folder = (folder if folder.is_absolute() else config.rootpath / folder).resolve()
    name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"
    config.stash[_FOLDER] = folder / name
    config.stash[_RUN] = Collected()
    if not config.option.xmlpath:
        config.option.xmlpath = str(folder / name / "junit.xml")


def _only_asks(config: pytest.Config) -> bool:
    option = config.option
    names = ("collectonly", "help", "version", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow", "setupplan")
    return any(getattr(option, name, False) for name in names)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what will run, and on what."""
    if config.getoption("--layout", None) is None and not config.getoption("markexpr", ""):
        return []
    stack = f"{config.getoption('--stack')} under {config.getoption('--stack-python')}"
    waits = f"rank time-out {config.getoption('--rank-timeout'):g} s, seed {config.getoption('--seed')}"
    return [f"meshgate: {stack}; {waits}", "meshgate: the CPU stand-in is on where torch sees no GPU; reports say so"]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take in a report (on the controller also those of xdist workers)."""
    if _current is not None:
        _current.add(report)


_current: Collected | None = None


def pytest_sessionstart(session: pytest.Session) -> None:
    """From here on reports belong to this run."""
    global _current
    _current = session.config.stash.get(_RUN, None)


def pytest_keyboard_interrupt() -> None:
    """Remember that the run was cut short."""
    if _current is not None:
        _current.interrupted = True


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Lift what all tests share to properties of the suite, before the JUnit file is written."""
    xml = session.config.stash.get(xml_key, None)
    if xml is None or _current is None:
        return
    for name, values in _current.constants.items():
        xml.add_global_property(name, "; ".join(sorted(values)))
    xml.add_global_property("host", socket.gethostname())
    if _current.interrupted:
        xml.add_global_property("interrupted", "yes")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget the run."""
    global _current
    _current = None


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Write the summary file, and print table, verdict and paths."""
    folder = config.stash.get(_FOLDER, None)
    if folder is None or _current is None:
        return
    file = _finish(config, folder)
    if file is None:
        return
    _print_table(terminalreporter, _current.results)
    try:
        run = read(file)
    except UnusableReport as error:
        terminalreporter.write_line(f"meshgate: no verdict: {error}", red=True)
        return
    if any(result.case for result in run.results):
        verdict = run.verdict
        if verdict == "ACCEPT" and exitstatus != 0:
            verdict = "INCOMPLETE"
        good = verdict == "ACCEPT"
        terminalreporter.write_line(f"verdict: {verdict} - {headline(run)}", green=good, red=not good, bold=True)
    terminalreporter.write_line(f"reports: {_shown(file)}, {_shown(file.with_name('summary.md'))}")


def _finish(config: pytest.Config, folder: Path) -> Path | None:
    """Put junit.xml and summary.md into the run's folder and point "latest" at it; returns the JUnit file."""
    written = Path(os.path.expanduser(os.path.expandvars(config.option.xmlpath)))
    if not written.exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "junit.xml"
    if written.resolve() != file:
        shutil.copyfile(written, file)
    try:
        (folder / "summary.md").write_text(markdown(read(file)), encoding="utf-8")
    except UnusableReport:
        pass
    _point(folder.parent / "latest", folder)
    return file


def _point(link: Path, folder: Path) -> None:
    """Make ``link`` a symbolic link to the folder, in one step; where links are not possible, leave it out."""
    temporary = link.with_name(f".latest-{secrets.token_hex(4)}")
    try:
        temporary.symlink_to(folder.name, target_is_directory=True)
        temporary.replace(link)
    except OSError:
        temporary.unlink(missing_ok=True)


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _print_table(terminalreporter: Any, results: list[Result]) -> None:
    made = table.make(results)
    if not made.rows:
        return
    terminalreporter.section("layouts x checks", sep="-")
    width = max(len(row[0]) for row in made.rows)
    numbers = {check: str(index + 1) for index, check in enumerate(made.checks)}
    full = width + sum(len(check) + 2 for check in made.checks) + 8 <= terminalreporter._screen_width
    if not full:
        legend = ", ".join(f"{number} {check}" for check, number in numbers.items())
        terminalreporter.write_line(f"checks: {legend}")
    names = [check if full else numbers[check] for check in made.checks]
    widths = [max(len(name), 4) for name in names]
    heads = "  ".join(name.ljust(wide) for name, wide in zip(names, widths, strict=True))
    terminalreporter.write_line(f"{'case'.ljust(width)}  {heads}  used")
    for case, cells, used in made.rows:
        terminalreporter.write(f"{case.ljust(width)}  ")
        for cell, wide in zip(cells, widths, strict=True):
            bad = cell in ("FAIL", "ERROR")
            terminalreporter.write(cell.ljust(wide) + "  ", red=bad, green=cell == "ok", yellow=cell in ("skip", "known"))
        terminalreporter.write_line("" if used is None else f"{used:.2g}")
