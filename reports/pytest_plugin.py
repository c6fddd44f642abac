"""pytest hooks for reports: a JUnit file, a Markdown summary and an HTML page for each run, a table and a verdict."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from _pytest.junitxml import LogXML, bin_xml_escape, mangle_test_address, xml_key

from reports import folders, table, terminal
from reports.junit import RUN_PROPERTIES, UNFINISHED, Run, UnusableReport, read
from reports.summary import headline, markdown

# Options with which pytest only answers a question, or prepares tests without running them.
_ASKS = (
    *("collectonly", "help", "version", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow"),
    *("setuponly", "setupplan"),
)

_DEFAULT = "reports/out"

_UNFINISHED = "# Meshgate: INCOMPLETE\n\nThe run has not ended: it is still going on, or was killed.\n"


@pytest.hookimpl(tryfirst=True)  # before pytest decides whether it writes a JUnit file
def pytest_configure(config: pytest.Config) -> None:
    """Report on this run, unless nothing will run, or another process (xdist's controller) does it."""
    if not hasattr(config, "workerinput") and not any(getattr(config.option, name, False) for name in _ASKS):
        config.pluginmanager.register(RunReport(config), "meshgate-report")


class RunReport:
    """The report of one run. ``folder`` is new for each run; ``latest`` beside it points to the last run that began."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        option = config.getoption("--reports-dir", _DEFAULT)
        # The default is a folder of the checkout; what a person writes starts from where that person is.
        parent = ((config.rootpath if option == _DEFAULT else config.invocation_params.dir) / option).resolve()
        self.folder = parent / folders.new_name()
        self.junit = self.folder / "junit.xml"
        self.summary = self.folder / "summary.md"
        self.page = self.folder / "report.html"
        if not getattr(config.option, "xmlpath", None):
            config.option.xmlpath = str(self.junit)
        self.interrupted = ""
        self.selected: int | None = None
        self.order: dict[tuple[str, str], int] = {}  # of tests in the matrix, by class name and name as JUnit has them
        self.shared: dict[str, str] = {}
        self._running: dict[tuple[str, object], pytest.TestReport] = {}  # the last report of tests under way
        self._run: Run | None = None
        self.no_page = ""
        self._before: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Make the folder, so that whoever looks at ``latest`` never takes an older run's report for this one's.

        Raises:
            pytest.UsageError: it can't be made.
        """
        try:
            self.folder.mkdir(parents=True)
            self.summary.write_text(_UNFINISHED, encoding="utf-8")
            folders.point(self.folder.parent / "latest", self.folder)
        except OSError as error:
            raise pytest.UsageError(
                f"--reports-dir {self.folder.parent}: can't be written: {error.strerror}; name another folder"
            ) from None
        # Schedulers and CI end a job with SIGTERM: report what ran, as for Ctrl-C.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, *_: object) -> None:
        self.interrupted = "the run was ended by SIGTERM"
        raise KeyboardInterrupt

    def pytest_unconfigure(self) -> None:
        """Leave signals as they were."""
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what is to run."""
        if session.items:
            self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count what is to run: each worker collects all of it."""
        self._expect(ids)

    def _expect(self, ids: list[str]) -> None:
        self.selected = len(ids)
        prefix = [self.config.option.junitprefix] if getattr(self.config.option, "junitprefix", None) else []
        for position, nodeid in enumerate(ids):
            names = prefix + mangle_test_address(nodeid)
            self.order[".".join(names[:-1]), bin_xml_escape(names[-1])] = position

    @pytest.hookimpl(tryfirst=True)  # before the JUnit file takes it in
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Lift what holds for the whole run from the tests to the suite; a test that differs keeps its own."""
        kept = []
        for name, value in report.user_properties:
            if name not in RUN_PROPERTIES or self.shared.setdefault(name, str(value)) != str(value):
                kept.append((name, value))
        report.user_properties = kept
        key = (report.nodeid, getattr(report, "node", None))
        if report.when == "teardown" or (report.failed and report.when != "call"):
            self._running.pop(key, None)
        else:
            self._running[key] = report

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the run was cut short."""
        what = f"{excinfo.typename}: {excinfo.value}".removesuffix(": ")
        self.interrupted = self.interrupted or f"the run was interrupted ({what})"

    def pytest_internalerror(self) -> None:
        """Remember that the run was cut short."""
        self.interrupted = self.interrupted or "pytest had an internal error"

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # around all others: files before, and the last words after them
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Complete the JUnit file before it is written; when all is said, say the verdict."""
        xml = self.config.stash.get(xml_key, None)
        if xml is not None:
            self._mark_unfinished(xml)
            # xdist's workers report in any order; the file has that of the matrix, the same in each run.
            xml.node_reporters_ordered.sort(key=self._position)
            last = {"host": socket.gethostname(), "exit_status": str(int(exitstatus)), "interrupted": self.interrupted}
            last["selected"] = "" if self.selected is None else str(self.selected)
            for name, value in {**self.shared, **last}.items():
                if value:
                    xml.add_global_property(name, value)
        try:
            return (yield)
        finally:
            self._publish()
            if exitstatus != pytest.ExitCode.USAGE_ERROR:  # then pytest's own line says all there is to say
                self._last_words(int(session.exitstatus))

    def _position(self, entry: Any) -> int:
        """Return where an entry of the JUnit file belongs; errors of collection, which are no tests, come first."""
        element = entry.to_xml()
        return self.order.get((element.get("classname", ""), element.get("name", "")), -1)

    def _mark_unfinished(self, xml: LogXML) -> None:
        """Complete the entries of tests that a cut found under way; pytest would write them as nameless passed ones."""
        for report in self._running.values():
            entry = xml.node_reporter(report)
            for name, value in report.user_properties:
                entry.add_property(str(name), value)
            if report.when == "setup" and report.passed:
                entry.record_testreport(report)
                entry.append(ElementTree.Element("skipped", type=UNFINISHED, message="the run ended while this test ran"))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the layout x check table."""
        run = self._publish()
        made = table.make(run.results if run else [])
        if made.rows:
            terminalreporter.section("layouts x checks", sep="-")
            for line in terminal.lines(made, terminalreporter._tw.fullwidth):
                for text, style in line:
                    terminalreporter.write(text, **({style: True} if style else {}))
                terminalreporter.write_line("")

    def _publish(self) -> Run | None:
        """Put the files into the run's folder, once; None where pytest wrote no JUnit file that can be read."""
        if self._run is None:
            xml = self.config.stash.get(xml_key, None)
            try:
                if xml is None:
                    raise UnusableReport("pytest wrote no JUnit file (its plugin junitxml is off)")
                written = Path(xml.logfile)
                if written.exists() and written.resolve() != self.junit:
                    shutil.copyfile(written, self.junit)
                self._run = read(self.junit)
                text = markdown(self._run)
            except (UnusableReport, OSError) as error:
                text = f"# Meshgate: INCOMPLETE\n\nNo report: {error}\n"
            if self.folder.is_dir():
                self.summary.write_text(text, encoding="utf-8")
                if self._run is not None:
                    self._write_page(self._run)
                folders.point(self.folder.parent / "latest", self.folder)
                folders.prune(self.folder.parent)
        return self._run

    def _write_page(self, run: Run) -> None:
        """The page needs jinja2; the other files and the verdict do not wait for it."""
        try:
            from reports.html import page

            self.page.write_text(page(run), encoding="utf-8")
        except ImportError as error:
            self.no_page = f"no report.html: {error.name} is not installed"
        except OSError as error:
            self.no_page = f"no report.html: {error.strerror}"

    def _last_words(self, status: int) -> None:
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        run = self._run
        if run is None:
            reporter.write_line("verdict: INCOMPLETE - there is no JUnit file to judge by", red=True, bold=True)
            return
        verdict, why = run.verdict, headline(run)
        if verdict in ("ACCEPT", "PASSED") and status != pytest.ExitCode.OK:
            verdict, why = "INCOMPLETE", f"{why}; but pytest ended with exit code {status}"
        good = verdict in ("ACCEPT", "PASSED")
        reporter.write_line(f"verdict: {verdict} - {why}", green=good, red=not good, bold=True)
        reporter.write_line(f"reports: {_shown(self.junit)} {_shown(self.summary)} {self.no_page or _shown(self.page)}")


def _shown(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
