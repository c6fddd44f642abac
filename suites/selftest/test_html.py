"""The HTML page: text of tests stays text, everything in the file is shown, tables have real headings, no network."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import summary
from reports.gate.compare import compare
from reports.gate.judge import judge
from reports.gate.policy import Policy
from reports.html import gate_page, page
from reports.junit import Result, Run, read
from reports.tables import added
from reports.xml import ROW_END
from suites.selftest.reports_strategies import result, runs, write

pytestmark = pytest.mark.selftest

HOSTILE = '</pre></td><script>alert(1)</script><img src=x onerror="alert(2)"> \' {{ 7 * 7 }} {% raw %}'


class Page(HTMLParser):
    """What a browser would see: elements, tables as rows of texts, and whether elements are closed properly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self.open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if "caption" in self.open:
            self._caption += data
        elif {"th", "td"} & set(self.open):
            self._rows[-1][-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def _check_form(shown: Page) -> None:
    """What holds for every page."""
    names = {name for name, _ in shown.elements}
    assert not names & {"script", "img", "iframe", "object", "link", "form", "svg", "base"}
    for _, attributes in shown.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in shown.named("meta")
    assert shown.named("html") == [{"lang": "en"}]
    assert all(heading.get("scope") in ("col", "row") for heading in shown.named("th"))
    assert len(shown.named("caption")) == len(shown.named("table"))
    # Every table is in a box of its own that scrolls and that the keyboard reaches.
    boxes = [box for box in shown.named("div") if box.get("class") == "scroll"]
    assert len(boxes) == len(shown.named("table"))
    assert all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-label"] for box in boxes)
    ids = [attributes["id"] for _, attributes in shown.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(link["href"] or "")[1:] for link in shown.named("a")} <= set(ids)


@pytest.fixture
def shown():
    table = {"table:checkpoints": '{"from": "tp2", "into dp2": true, "note": null, "seconds": 1.5}'}
    run = Run(
        [
            result("tp2", "loss", "passed", measured="0.3", tolerance="1.0", seconds="1.5", peak_memory_mib="300"),
            result("tp2", "norm", "failed", f"norm: wrong\n{HOSTILE}", measured="2.0", tolerance="1.0"),
            result("pp2", "loss", "skipped", "needs a GPU", seconds="3.0", peak_memory_mib="100"),
            result("pp2", "norm", "xfailed", "known issue x: a title", known_issue="x", known_issue_remedy="do this"),
            Result("plain", "passed", "", 0.0, table),
            Result("other", "passed", "", 0.0, {"table:checkpoints": '{"from": "pp2", "more": "<b>"}'}),
        ],
        {"stack": "megatron-core", "stack_version": "0.16.1", "torch": "<2>"},
    )
    return Page(page(run))


def test_form(shown):
    _check_form(shown)


def test_the_verdict_comes_first(shown):
    assert [name for name, _ in shown.elements].index("h1") < [name for name, _ in shown.elements].index("h2")
    words = " ".join(shown.text.split())
    assert "✗ REJECT 2 checks of 2 cases: 3 passed, 1 failed, 1 skipped, 1 known; largest error 2 of its tolerance" in words


def test_text_of_tests_is_text(shown):
    assert f"norm: wrong\n{HOSTILE}" in shown.text


def test_the_heat_map_has_words_and_numbers(shown):
    assert shown.tables["llama float64 adam"] == [
        ["layout", "loss", "norm"],
        ["tp2", "ok0.3", "FAIL2"],
        ["pp2", "skip", "known"],
    ]
    styles = [cell.get("class") for cell in shown.named("td")]
    assert "ok2" in styles
    assert "bad" in styles


def test_cost_by_layout(shown):
    assert shown.tables["By layout: seconds of the slowest rank, and the peak of the rank that took most memory"] == [
        ["layout", "seconds", "MiB a rank", "case"],
        ["tp2", "1.5", "300", "llama float64 adam"],
        ["pp2", "3.0", "100", "llama float64 adam"],
    ]
    assert [bar["style"] for bar in shown.named("span") if bar.get("class") == "bar"] == [
        "width: 50%", "width: 100%", "width: 100%", "width: 33%",
    ]  # fmt: skip


def test_known_issues_skips_and_versions(shown):
    assert shown.tables["Failures that are expected, and what to do about them"][1] == [
        "known issue x: a title", "do this", "1", "norm, llama-pp2-float64-adam",
    ]  # fmt: skip
    assert shown.tables["Reasons for skips"] == [["reason", "tests"], ["needs a GPU", "1"]]
    assert ["torch", "<2>"] in shown.tables["As the ranks reported them"]


def test_tables_of_suites(shown):
    assert shown.tables["checkpoints"] == [
        ["from", "into dp2", "note", "seconds", "more"],
        ["tp2", "yes", "", "1.5", ""],
        ["pp2", "", "", "", "<b>"],
    ]


def test_a_total_has_a_bar():
    rows = [Result(layout, "passed", "", 0.0, {"table:memory": f'{{"layout": "{layout}", "total": {kib}}}'})
            for layout, kib in (("tp2", 50.0), ("dp2", 200.0))]  # fmt: skip
    text = page(Run(rows, {}))
    assert [f'{kib}<span class="bar" style="width: {share}%"' in text for kib, share in (("50.0", 25), ("200.0", 100))] == [
        True
    ] * 2


def test_tables_of_suites_are_in_the_summary():
    text = summary.markdown(Run([Result("a", "passed", "", 0.0, {"table:what loads": '{"from": "tp2", "into": "a|b"}'})], {}))
    assert "## what loads\n\n| from | into |\n| --- | --- |\n| tp2 | a\\|b |\n" in text


@pytest.mark.parametrize(
    ("value", "columns", "rows"),
    [
        ('{"a": 1}', ["a"], [["1"]]),
        ('{"a": [1, "x"]}', ["a"], [['[1, "x"]']]),
        ("not json", ["not a row"], [["not json"]]),
        ("[1]", ["not a row"], [["[1]"]]),
        ("{}", ["not a row"], [["{}"]]),
        ("[" * 100_000, ["not a row"], [["[" * 100_000]]),
        (ROW_END.join(['{"a": 1}', '{"b": 2}', '{"a": 1}']), ["a", "b"], [["1", ""], ["", "2"]]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_rows(value, columns, rows):
    (table,) = added([Result("x", "passed", "", 0.0, {"table:t": value})])
    assert (table.name, table.columns, table.rows) == ("t", columns, rows)


def test_a_test_can_state_several_rows(tmp_path):
    rows = "".join(f'<property name="table:t" value="{{&quot;n&quot;: {number}}}"/>' for number in (1, 2))
    path = tmp_path / "r.xml"
    path.write_text(f'<testsuite><testcase name="a"><properties>{rows}</properties></testcase></testsuite>')
    assert added(read(path).results)[0].rows == [["1"], ["2"]]


def test_hundreds_of_clean_cases_are_counted():
    run = Run([result(f"dp{number}", "loss", "passed") for number in range(1, 500)] + [result("tp2", "loss", "failed")], {})
    shown = Page(page(run))
    assert shown.tables["llama float64 adam"] == [["layout", "loss"], ["tp2", "FAIL"]]
    assert "499 more cases are not shown" in shown.text


def test_many_findings_are_counted():
    shown = Page(page(Run([Result(f"t{number}", "failed", "x\n" * 100, 0.0) for number in range(130)], {})))
    assert len(shown.named("details")) == 100
    assert "and 30 more, in the JUnit file" in shown.text
    assert "... 40 more lines in the JUnit file" in shown.text


def test_the_page_of_a_comparison():
    before = Run([result("tp2", "loss", "passed"), result("tp2", "norm", "passed")], {"torch": "1"})
    after = Run([result("tp2", "loss", "failed", HOSTILE), result("pp2", "norm", "passed")], {"torch": "2"})
    shown = Page(gate_page(judge(compare(before, after, Policy().limits), Policy(), [HOSTILE])))
    _check_form(shown)
    assert "REJECT" in shown.text
    assert shown.tables["new failures"] == [
        ["test", "was", "is", "finding"],
        ["loss, llama-tp2-float64-adam", "passed", "failed", HOSTILE],
    ]
    assert shown.tables["changed versions"][1] == ["torch", "1", "2", ""]
    assert ["missing tests", "1"] in shown.tables["Each test is in one class"]
    assert re.search(r"missing tests: 1\s+\(rejects\)", shown.text)


@given(runs(), runs(), st.text(max_size=20))
def test_anything_has_a_page(before, after, text):
    before = Run([*before.results, Result(text, "failed", text, 0.0, {f"table:{text}": text})], {"torch": text})
    _check_form(Page(page(before)))
    _check_form(Page(gate_page(judge(compare(before, after, Policy().limits), Policy(), [text]))))


def test_the_command(tmp_path, capsys):
    from reports.html import page as form

    path = write(tmp_path / "r.xml", [result("tp2", "loss", "passed")])
    assert summary.command("reports.html", "", form, [str(path), "-o", str(tmp_path / "r.html")]) == 0
    assert "ACCEPT" in Page((tmp_path / "r.html").read_text()).text
    assert summary.command("reports.html", "", form, [str(tmp_path / "no.xml")]) == 2
    assert capsys.readouterr().err.startswith(f"reports.html: {tmp_path}/no.xml: no such file")
