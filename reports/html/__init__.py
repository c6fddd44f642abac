"""Reports as one HTML file each: no script, nothing from the network, readable without colours and without a mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports.gate.judge import Judgement
from reports.html.view import view
from reports.junit import Run

# Text of tests can be anything: autoescape is on for every template.
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_GATE_ROWS = 1000


def page(run: Run) -> str:
    """Return the report of a run."""
    return _render("run.html.j2", view=view(run), verdict=run.verdict)


def gate_page(judgement: Judgement) -> str:
    """Return the report of a comparison."""
    return _render("gate.html.j2", judgement=judgement, verdict=judgement.verdict, limit=_GATE_ROWS)


def _render(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(template).render(**values)
