"""The form of JUnit files that Jenkins, GitLab and GitHub actions all take: what may stand where, as a small schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_TEXT = r"[\s\S]*"
_NAME = r"[\s\S]+"
_COUNT = r"\d+"
_SECONDS = r"\d+(\.\d+)?"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"


@dataclass(frozen=True)
class Form:
    """One element. Attributes are patterns; children come in this order, with how many there may be (* or ?)."""

    needed: dict[str, str] = field(default_factory=dict)
    allowed: dict[str, str] = field(default_factory=dict)
    children: tuple[str, ...] = ()


_RESULT = Form(allowed={"message": _TEXT, "type": _TEXT})
SCHEMA = {
    "testsuites": Form(
        allowed={"name": _TEXT, "time": _SECONDS, "tests": _COUNT, "failures": _COUNT, "errors": _COUNT, "skipped": _COUNT},
        children=("testsuite*",),
    ),
    "testsuite": Form(
        needed={"name": _NAME, "tests": _COUNT, "failures": _COUNT, "errors": _COUNT, "skipped": _COUNT, "time": _SECONDS},
        allowed={"timestamp": _TIME, "hostname": _TEXT},
        children=("properties?", "testcase*", "system-out?", "system-err?"),
    ),
    "properties": Form(children=("property*",)),
    "property": Form(needed={"name": _NAME, "value": _TEXT}),
    "testcase": Form(
        needed={"name": _NAME, "classname": _TEXT, "time": _SECONDS},
        allowed={"file": _NAME, "line": _COUNT},
        children=("properties?", "skipped?", "error?", "failure?", "system-out?", "system-err?"),
    ),
    "skipped": _RESULT,
    "error": _RESULT,
    "failure": Form(needed={"message": _TEXT}, allowed={"type": _TEXT}),
    "system-out": Form(),
    "system-err": Form(),
}


def violations(path: Path) -> list[str]:
    """Return what is wrong with a file; nothing when all three take it."""
    root = ElementTree.parse(path).getroot()
    wrong = [] if root.tag in ("testsuites", "testsuite") else [f"the root is <{root.tag}>"]
    return [*wrong, *_element(root), *_counts(root)]


def _element(element: ElementTree.Element) -> Iterator[str]:
    form = SCHEMA.get(element.tag)
    if form is None:
        yield f"<{element.tag}> is not known"
        return
    for name in form.needed.keys() - element.attrib.keys():
        yield f"<{element.tag}> has no {name}"
    for name, value in element.attrib.items():
        pattern = (form.needed | form.allowed).get(name)
        if pattern is None:
            yield f"<{element.tag}> has {name}"
        elif not re.fullmatch(pattern, value):
            yield f"{name} of <{element.tag}> is {value!r}"
    order = [child.rstrip("*?") for child in form.children]
    places = [order.index(child.tag) if child.tag in order else -1 for child in element]
    if -1 in places:
        yield f"<{element.tag}> has <{element[places.index(-1)].tag}> in it"
    elif places != sorted(places):
        yield f"<{element.tag}> has {', '.join(child.tag for child in element)} in this order"
    for child in form.children:
        if child.endswith("?") and places.count(order.index(child[:-1])) > 1:
            yield f"<{element.tag}> has several <{child[:-1]}>"
    if form.children and (element.text or "").strip():
        yield f"<{element.tag}> has text"
    for child in element:
        yield from _element(child)


def _counts(root: ElementTree.Element) -> Iterator[str]:
    """The numbers of a suite are those of its tests: dashboards show the one or the other."""
    for suite in root.iter("testsuite"):
        tests = suite.findall("testcase")
        for name, tag in (("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            found = len(tests) if not tag else sum(test.find(tag) is not None for test in tests)
            if suite.get(name) != str(found):
                yield f"{name} of <testsuite> is {suite.get(name)}, and there are {found}"
