"""The page of what is detected lists the catalogue, no fault hidden, and nothing else can reach the catalogue."""

import json
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from reports.detection import page
from reports.junit import UnusableReport, read

ROOT = Path(__file__).parents[2]
CATALOGUE = {path.stem for path in (ROOT / "suites/detection/catalogue").glob("*/*.py")}


def _rows():
    text = (ROOT / "docs/detection.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("fault", "---")]


def test_the_page_lists_exactly_the_catalogue():
    rows = _rows()
    names = [row[0] for row in rows]
    assert len(names) == len(set(names))
    assert set(names) == CATALOGUE


def test_the_page_counts_what_it_lists():
    rows = _rows()
    results = [row[3] for row in rows]
    text = (ROOT / "docs/detection.md").read_text()
    total, caught, missed, localised = map(
        int, re.search(r"\*\*(\d+) faults: (\d+) caught, (\d+) missed, (\d+) localised", text).groups()
    )
    assert (total, missed, localised) == (len(rows), results.count("missed"), results.count("localised"))
    assert caught == total - missed
    assert total >= 60


def test_names_of_faults_can_not_be_imported():
    assert not [name for name in CATALOGUE if name.isidentifier()]


@pytest.mark.parametrize("room", ["fixtures", "reports", "suites", "ci"])
def test_nothing_outside_of_detection_refers_to_it(room):
    files = [path for path in (ROOT / room).rglob("*.py") if "detection" not in path.parts and path != Path(__file__)]
    assert files
    assert not [path for path in files if "suites.detection" in path.read_text()]


def _report(tmp_path, *rows):
    tests = "".join(
        f'<testcase classname="suites.detection.test_detection" name="test_fault[{row["fault"]}]" time="1"><properties>'
        f'<property name="table:detection" value={quoteattr(json.dumps(row))}/></properties></testcase>'
        for row in rows
    )
    path = tmp_path / "junit.xml"
    path.write_text(f'<testsuites><testsuite name="pytest" tests="{len(rows)}">{tests}</testsuite></testsuites>')
    return read(path)


def _row(name, result, **more):
    row = {"area": "experts", "fault": name, "wrong": "It is wrong.", "on": "tp2", "result": result, "caught by": "loss"}
    return {**row, "module": "*", "axis": "tp", "finding": "loss | wrong", "gap": "", "reference": "", "seconds": "1.0", **more}


def test_a_missed_fault_is_shown_first(tmp_path):
    text = page(_report(tmp_path, _row("one-fault", "localised"), _row("two-fault", "missed", gap="no check reads it")))
    assert "**2 faults: 1 caught, 1 missed, 1 localised" in text
    assert "(50.0%)" in text
    assert text.index("two-fault") < text.index("one-fault")
    assert "missed: no check reads it" in text
    assert "loss \\| wrong" in text


def test_a_report_without_faults_is_refused(tmp_path):
    with pytest.raises(UnusableReport, match="pytest -m detection"):
        page(_report(tmp_path))
