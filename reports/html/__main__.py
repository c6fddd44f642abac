"""The report of a run as one HTML file: ``python -m reports.html FILE.xml [-o OUT.html]``.

Exit code 2 when the file is unusable.
"""

from __future__ import annotations

from reports.html import page
from reports.summary import command

if __name__ == "__main__":
    raise SystemExit(command("reports.html", __doc__ or "", page))
