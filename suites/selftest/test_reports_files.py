"""Reading JUnit files from anywhere: verdicts, tables, Markdown, and files that are damaged or hostile."""

from __future__ import annotations

import math
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reports import summary, table, terminal
from reports.junit import Result, Run, UnusableReport, read

pytestmark = pytest.mark.selftest


def _case(outcome: str, check: str = "loss", layout: str = "tp2", **properties: str) -> Result:
    stated = {
        "case": f"llama-{layout}",
        "architecture": "llama",
        "precision": "float64",
        "layout": layout,
        "check": check,
    }
    return Result(f"test_{check}[{layout}]", outcome, "why" if outcome != "passed" else "", 0.0, stated | properties)


PLAIN = Result("test_plain", "passed", "", 0.0)


@pytest.mark.parametrize(
    ("results", "properties", "verdict"),
    [
        ([_case("passed")], {}, "ACCEPT"),
        ([_case("passed"), _case("skipped", "memory")], {}, "ACCEPT"),
        ([_case("xfailed")], {}, "NOTHING RAN"),
        ([_case("xfailed"), _case("passed", "memory")], {}, "ACCEPT"),
        ([_case("passed"), _case("failed", "memory")], {}, "REJECT"),
        ([_case("passed"), _case("error", "memory")], {}, "REJECT"),
        ([_case("passed"), Result("test_plain", "failed", "", 0.0)], {}, "REJECT"),
        ([_case("failed")], {"interrupted": "Ctrl-C"}, "REJECT"),
        ([_case("passed")], {"interrupted": "Ctrl-C"}, "INCOMPLETE"),
        ([_case("passed"), _case("unfinished", "memory")], {}, "INCOMPLETE"),
        ([_case("passed")], {"selected": "2"}, "INCOMPLETE"),
        ([_case("passed")], {"selected": "1"}, "ACCEPT"),
        ([_case("passed")], {"exit_status": "0"}, "ACCEPT"),
        ([_case("passed")], {"exit_status": "3"}, "INCOMPLETE"),
        ([], {"exit_status": "5"}, "NOTHING RAN"),
        ([], {}, "NOTHING RAN"),
        ([_case("skipped")], {}, "NOTHING RAN"),
        ([_case("skipped"), PLAIN], {}, "NOTHING RAN"),
        ([PLAIN], {}, "PASSED"),
        ([PLAIN, Result("test_other", "error", "", 0.0)], {}, "FAILED"),
    ],
)
def test_verdict(results, properties, verdict):
    assert Run(results, properties).verdict == verdict


@given(
    st.lists(st.sampled_from(["passed", "failed", "error", "skipped", "xfailed", "unfinished"]), max_size=6),
    st.sampled_from(["", "Ctrl-C"]),
    st.sampled_from([0, 1, 2, 3, 5]),
    st.integers(0, 8),
)
def test_accept_needs_everything(outcomes, interrupted, status, selected):
    """ACCEPT means: something passed, nothing failed, nothing is missing, and the run got to its end."""
    results = [_case(outcome, f"check{number}") for number, outcome in enumerate(outcomes)]
    run = Run(results, {"interrupted": interrupted, "exit_status": str(status), "selected": str(selected)})
    if run.verdict == "ACCEPT":
        assert {"passed", "xfailed"} & set(outcomes)
        assert not {"failed", "error", "unfinished"} & set(outcomes)
        assert not interrupted
        assert status in (0, 1, 5)
        assert selected <= len(outcomes)


@pytest.mark.parametrize(
    ("measured", "tolerance", "used"),
    [
        ("0.1", "0.4", 0.25),
        ("0.0", "0.0", 0.0),
        ("1e-9", "0.0", math.inf),
        ("nan", "0.4", math.inf),
        ("inf", "inf", math.inf),
        ("0.1", "much", None),
    ],
)
def test_part_of_the_tolerance(measured, tolerance, used):
    assert _case("passed", measured=measured, tolerance=tolerance).used == used


def test_no_number_no_part():
    assert _case("passed").used is None


def test_table_has_the_worst_of_several_results():
    made = table.make([_case("failed"), _case("passed"), _case("passed", "norm"), _case("error", layout="pp2")])
    assert made.checks == ["loss", "norm"]
    assert [(row.label, row.cells) for row in made.rows] == [("tp2", ["FAIL", "ok"]), ("pp2", ["ERROR", ""])]


def test_checks_have_the_order_of_the_suite(tmp_path):
    """Whatever the order of results: xdist's workers report in any."""
    names = ["test_norm", "test_loss", "test_sync", "test_first"]
    places = [("b.py", 9), ("b.py", 20), ("c.py", 1), ("a.py", 100)]
    inside = '<properties><property name="case" value="x"/></properties>'
    cases = "".join(
        f'<testcase name="{name}[x]" file="{file}" line="{line}">{inside}</testcase>'
        for name, (file, line) in zip(names, places, strict=True)
    )
    run = read(_write(tmp_path, f"<testsuite>{cases}</testsuite>"))
    assert table.make(run.results).checks == ["first", "norm", "loss", "sync"]


def test_table_groups_what_belongs_together():
    results = [_case("passed", layout=layout, precision=precision, case=f"{layout}-{precision}")
               for layout in ("tp2", "pp2") for precision in ("float64", "bfloat16")]  # fmt: skip
    rows = table.make(results).rows
    assert [(row.group, row.label) for row in rows] == [
        ("llama float64", "tp2"),
        ("llama float64", "pp2"),
        ("llama bfloat16", "tp2"),
        ("llama bfloat16", "pp2"),
    ]


def _printed(results: list[Result], width: int) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in terminal.lines(table.make(results), width)]


CHECKS = ["forward_finite", "loss", "gradients", "gradient_norm"]


def test_wide_terminal():
    results = [_case("passed", check, measured="1.0", tolerance="4.0") for check in CHECKS[:3]]
    assert _printed([*results, _case("failed", CHECKS[3])], 80) == [
        "       forward_finite  loss   gradients  gradient_norm  err/tol",
        "llama float64",
        "  tp2  ok              ok     ok         FAIL           0.25",
    ]


def test_narrow_terminal_has_numbers_and_a_legend():
    outcomes = ["passed", "failed", "skipped", "xfailed"]
    assert _printed([_case(outcome, check) for outcome, check in zip(outcomes, CHECKS, strict=True)], 50) == [
        "checks: 1 forward_finite, 2 loss, 3 gradients,",
        "        4 gradient_norm",
        "cells:  . ok, F FAIL, E ERROR (the check could not be made), s skipped, k known issue, - unfinished",
        "       1  2  3  4  err/tol",
        "llama float64",
        "  tp2  .  F  s  k",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_column_is_lost_at_any_width(width):
    names = [f"check_{number}" for number in range(30)]
    results = [_case("failed", name, layout=layout) for name in names for layout in ("tp2", "tp2pp2cp2dp2")]
    lines = _printed(results, width)
    assert sum(line.count("F") for line in lines if line.startswith("  tp2pp2cp2dp2")) == 30
    assert all(len(line) <= width for line in lines if not line.startswith("cells:"))


def test_hundreds_of_clean_cases_are_counted_not_shown():
    results = [_case("passed", layout=f"dp{number + 1}") for number in range(100)]
    assert _printed(results, 80) == ["100 cases with every check ok"]
    lines = _printed([*results, _case("failed", layout="tp2")], 80)
    assert lines[-2:] == ["  tp2  FAIL", "and 100 cases with every check ok"]


def test_markdown_shows_text_as_it_is():
    hostile = "| `x` <script>alert(1)</script> *b* _i_ __init__ [l](http://x) #1 a_b \\"
    text = summary.markdown(Run([_case("skipped", "c|<i>"), Result("n", "skipped", hostile, 0.0)], {"torch": "<b>2|3"}))
    shown = [
        *(r"\|", r"\`x\`", "&lt;script&gt;alert(1)&lt;/script&gt;", r"\*b\*", r"\_i\_", r"\_\_init\_\_"),
        *(r"\[l\](http://x)", r"\#1", "a_b", r"\\"),
    ]
    assert f"- 1 x {' '.join(shown)}\n" in text
    assert "| layout | c\\|&lt;i&gt; |" in text
    assert "- torch: &lt;b&gt;2\\|3" in text
    assert "<script" not in text


def test_findings_can_not_leave_their_block():
    message = "first\n\n</pre><script>\n```\n# heading\n" + "\n".join(f"line {number}" for number in range(20))
    text = summary.markdown(Run([Result("test_x", "failed", message, 0.0)], {}))
    block = text.split("**test_x**\n\n")[1].split("\n\n##")[0].splitlines()
    assert block[:4] == ["    first", "    ", "    </pre><script>", "    ```"]
    assert all(line.startswith("    ") for line in block if line)
    assert block[14] == "    ... 11 more lines in the JUnit file"


def test_many_findings_are_counted():
    text = summary.markdown(Run([Result(f"test_{number}", "failed", "why", 0.0) for number in range(25)], {}))
    assert text.count("\n    why\n") == 20
    assert "... and 5 more, in the JUnit file" in text


def test_verdict_comes_first():
    lines = summary.markdown(Run([_case("failed"), _case("passed", "norm")], {"torch": "2"})).splitlines()
    assert lines[0] == "# Meshgate: REJECT"
    assert lines[2] == "2 checks of 1 case: 1 passed, 1 failed"
    assert [line for line in lines if line.startswith("## ")] == ["## Findings", "## Checks", "## Environment"]


def _write(tmp_path, text: str | bytes):
    path = tmp_path / "report.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_foreign_file_with_nested_suites(tmp_path):
    text = """<testsuites name="x"><properties><property name="torch" value="2.1"/></properties>
    <testsuite name="outer"><properties><property name="host">node7</property></properties>
      <testcase name="a" time="1,234.5"/><testcase classname="C" name="b" time="soon"><failure>broken
      here</failure></testcase>
      <testsuite name="inner"><properties><property name="torch" value="2.2"/></properties>
        <testcase name="c"><error message="boom"/><failure message="later"/></testcase>
        <testcase name="d"><skipped/></testcase></testsuite></testsuite></testsuites>"""
    run = read(_write(tmp_path, text))
    assert [(test.name, test.outcome, test.message.split("\n")[0], test.seconds) for test in run.results] == [
        ("a", "passed", "", 1234.5),
        ("C.b", "failed", "broken", 0.0),
        ("c", "error", "boom", 0.0),
        ("d", "skipped", "", 0.0),
    ]
    assert [test.properties.get("torch") for test in run.results] == ["2.1", "2.1", "2.2", "2.2"]
    assert run.results[0].properties["host"] == "node7"
    assert run.verdict == "FAILED"


def test_a_single_suite_as_root(tmp_path):
    assert read(_write(tmp_path, '<testsuite name="s"><testcase name="a"/></testsuite>')).count("passed") == 1


BOMB = '<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("not xml", "not a JUnit report: syntax error"),
        ("<testsuites><testsuite>", "not a JUnit report: no element found"),
        ("<html></html>", "its first element is <html>, not <testsuites> or <testsuite>"),
        (b"\x00\x01\x02", "not a JUnit report: "),
        (b"\xff\xfe", "not a JUnit report: "),
        (BOMB, "it has a DOCTYPE"),
        (BOMB.encode("utf-16"), "it has a DOCTYPE"),
        ("<!--" + "x" * 10_000 + "-->" + BOMB, "it has a DOCTYPE"),
        ('<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite/>', "it has a DOCTYPE"),
        ("<testsuites>" + "<testsuite>" * 5_000 + "</testsuite>" * 5_000 + "</testsuites>", "not a JUnit report: "),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, str) else None,
)
def test_unusable_files(tmp_path, capsys, text, words):
    path = _write(tmp_path, text)
    assert summary.main([str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"reports.summary: {path}: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_doctype_in_text_is_text(tmp_path):
    path = _write(tmp_path, "<testsuite><testcase name='a'><failure message='&lt;!DOCTYPE x&gt;'/></testcase></testsuite>")
    assert read(path).results[0].message == "<!DOCTYPE x>"


def test_missing_file_and_folder(tmp_path, capsys):
    assert summary.main([str(tmp_path / "none.xml")]) == 2
    assert "no such file; run pytest first" in capsys.readouterr().err
    assert summary.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"reports.summary: {tmp_path}: can't be read: Is a directory\n"


def test_command_writes_where_it_is_told(tmp_path, capsys):
    path = _write(tmp_path, '<testsuite name="s"><testcase name="a"/></testsuite>')
    assert summary.main([str(path), "-o", str(tmp_path / "out.md")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out.md").read_text().startswith("# Meshgate: PASSED\n")
    assert summary.main([str(path), "-o", str(tmp_path / "none" / "out.md")]) == 2
    assert "can't be written: No such file or directory" in capsys.readouterr().err


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b'<testsuite><testcase time="x" name="a"><skipped/><properties/></testcase></testsuite>')
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.xml"
    path.write_bytes(data)
    refused = ""
    try:
        summary.markdown(read(path))
    except UnusableReport as error:
        refused = str(error)
    assert "\n" not in refused


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.sampled_from(["", "failure", "error", "skipped"]), st.dictionaries(NAMES, NAMES)),
        max_size=5,
    )
)
def test_every_test_of_a_file_is_read(tmp_path_factory, tests):
    body = ""
    for name, message, tag, properties in tests:
        inside = "".join(f"<property name={quoteattr(n)} value={quoteattr(v)}/>" for n, v in properties.items())
        result = f"<{tag} message={quoteattr(message)}/>" if tag else ""
        body += f"<testcase name={quoteattr(name)}><properties>{inside}</properties>{result}</testcase>"
    path = tmp_path_factory.getbasetemp() / "all.xml"
    path.write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>", encoding="utf-8")
    run = read(path)
    outcome = {"": "passed", "failure": "failed", "error": "error", "skipped": "skipped"}
    assert [(test.name, test.outcome) for test in run.results] == [(name, outcome[tag]) for name, _, tag, _ in tests]
    assert [test.properties for test in run.results] == [properties for *_, properties in tests]
    assert summary.markdown(run).startswith(f"# Meshgate: {run.verdict}\n")
