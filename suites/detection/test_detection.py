"""Every fault of the catalogue is caught by the checks that it names, and the diagnosis names its module and axis."""

import json
import time

import pytest

from suites.detection import score
from suites.detection.kinds.base import COMPLETED, Absent, Stopped


def _told(findings):
    return "\n\n".join(str(finding) for finding in findings.values()) or "no check failed"


def test_fault(entry, kinds, record_property):
    fault = entry.fault
    started = time.monotonic()
    try:
        findings = kinds[fault.kind].findings(entry, fault.on, fault.options)
    except Stopped as stopped:
        findings = {COMPLETED: str(stopped)}
    except Absent as absent:
        pytest.skip(f"another version of the stack has this fault: {absent}")
    record_property(score.TABLE, json.dumps(score.row(entry, findings, time.monotonic() - started)))
    missed = score.missed_by(fault, findings)
    if missed:
        pytest.fail(f"{entry.name} ({fault.wrong}) is missed by: {', '.join(missed)}\n\n{_told(findings)}", pytrace=False)
    by = score.localised_by(fault, findings)
    if by is None and not fault.gap:
        wanted = f"module {fault.module}, axis {fault.axis}, words {fault.says}"
        pytest.fail(f"{entry.name} ({fault.wrong}) is caught, not localised: {wanted}\n\n{_told(findings)}", pytrace=False)
    if by is not None and fault.gap:
        pytest.fail(f"{entry.name} is localised by {by}, and its file says that it can't be: {fault.gap}", pytrace=False)
