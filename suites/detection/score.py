"""From findings to a score: was a fault caught, and does the diagnosis name its module and axis?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from fixtures.oracle.diagnose import Finding
from suites.detection.fault import Entry, Fault

TABLE = "table:detection"


def missed_by(fault: Fault, findings: dict[str, Any]) -> list[str]:
    """Return the checks that should have failed, and did not."""
    return [check for check in fault.caught_by if check not in findings]


def localised_by(fault: Fault, findings: dict[str, Any]) -> str | None:
    """Return the check whose finding names the module and the axis of a fault, and has its words; None where none does."""
    for check in fault.caught_by:
        finding = findings.get(check)
        if finding and _names_module(fault, finding) and _names_axis(fault, finding) and _says(fault, finding):
            return check
    return None


def _names_module(fault: Fault, finding: Any) -> bool:
    if fault.module is None:
        return True
    if isinstance(finding, Finding):
        return finding.module is not None and fnmatchcase(finding.module, fault.module)
    headline = str(finding).splitlines()[0]
    return any(fnmatchcase(word, fault.module) for word in re.split(r"[\s,;:()]+", headline))


def _names_axis(fault: Fault, finding: Any) -> bool:
    return fault.axis is None or (isinstance(finding, Finding) and finding.axes == (fault.axis,))


def _says(fault: Fault, finding: Any) -> bool:
    return all(words in str(finding) for words in fault.says)


def row(entry: Entry, findings: dict[str, Any], seconds: float) -> dict[str, str]:
    """Return a fault's row of the table."""
    fault = entry.fault
    by = localised_by(fault, findings)
    best = findings.get(by or next(iter(fault.caught_by)), "")
    return {
        "area": fault.area,
        "fault": entry.name,
        "wrong": fault.wrong,
        "on": " ".join([fault.on.layout, fault.on.architecture, fault.on.precision, fault.on.optimizer]),
        "result": "missed" if missed_by(fault, findings) else "caught" if by is None else "localised",
        "caught by": ", ".join(findings),
        "module": fault.module or "",
        "axis": fault.axis or "",
        "finding": str(best).splitlines()[0] if best else "",
        "gap": fault.gap,
        "reference": fault.reference,
        "seconds": f"{seconds:.1f}",
    }


def summary(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the score in lines: totals, then what was missed and what was caught but not named."""
    caught = [row for row in rows if row["result"] != "missed"]
    localised = [row for row in rows if row["result"] == "localised"]
    seconds = sum(float(row["seconds"]) for row in rows)
    lines = [
        f"{len(rows)} faults: {len(caught)} caught, {len(rows) - len(caught)} missed, {len(localised)} localised "
        f"({len(localised) / len(rows):.1%}); {seconds:.0f} s"
    ]
    lines += [f"missed: {row['fault']}: {row['wrong']}" for row in rows if row["result"] == "missed"]
    lines += [
        f"caught, not localised: {row['fault']}: {row['gap'] or row['finding']}" for row in rows if row["result"] == "caught"
    ]
    return lines
