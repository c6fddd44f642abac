"""Compare a candidate run with a baseline run, and accept or reject it.

Exit code 0: accepted, 1: rejected, 2: a file or the policy can't be used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reports.gate.compare import compare
from reports.gate.inputs import load, overlap
from reports.gate.judge import judge
from reports.gate.policy import Policy, UnusablePolicy, read_policy
from reports.gate.show import markdown, terminal
from reports.junit import UnusableReport


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m reports.gate", description=__doc__, allow_abbrev=False)
    for name in ("baseline", "candidate"):
        parser.add_argument(
            f"--{name}", type=Path, action="append", required=True, metavar="FILE",
            help=f"JUnit file of the {name}, or a folder with a junit.xml; repeated: the parts of one run",
        )  # fmt: skip
    parser.add_argument("--policy", type=Path, metavar="FILE", help="TOML file: what rejects, and from where on; docs/gate.md")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the comparison as Markdown")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write it as one HTML file")
    options = parser.parse_args(arguments)
    try:
        policy = read_policy(options.policy) if options.policy else Policy()
        baseline, candidate = load(options.baseline, "baseline"), load(options.candidate, "candidate")
    except (UnusableReport, UnusablePolicy) as error:
        return _refuse(str(error))
    notes = [f"{what}: {note}" for what, part in (("baseline", baseline), ("candidate", candidate)) for note in part.notes]
    notes += overlap(baseline, candidate)
    judgement = judge(compare(baseline.run, candidate.run, policy.limits), policy, notes)
    try:
        if options.markdown:
            options.markdown.write_text(markdown(judgement), encoding="utf-8")
        if options.html:
            from reports.html import gate_page  # needs jinja2, which nothing else here does

            options.html.write_text(gate_page(judgement), encoding="utf-8")
    except OSError as error:
        return _refuse(f"{error.filename}: can't be written: {error.strerror}")
    except ImportError as error:
        return _refuse(f"--html needs {error.name}; install it, or leave --html out")
    print("\n".join(terminal(judgement)))
    return 0 if judgement.accepted else 1


def _refuse(why: str) -> int:
    print(f"reports.gate: {why}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
