"""Sets of layouts: all of a number of ranks, the smoke set, and files."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import architectures
from fixtures.layout import Layout, LayoutError, enumerate_layouts, expand

pytestmark = pytest.mark.selftest


@pytest.mark.parametrize(("world", "count"), [(1, 1), (2, 4), (16, 35), (64, 84), (131072, 1140)])
def test_enumeration_is_complete(world, count):
    found = enumerate_layouts(world)
    assert len(found) == len(set(found)) == count
    assert all(layout.world == world for layout in found)


@settings(deadline=None)
@given(st.integers(1, 200))
def test_enumeration_counts_follow_the_prime_factors(world):
    rest, count, prime = world, 1, 2
    while rest > 1:
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        count *= math.comb(power + 3, 3)
        prime += 1
    assert len(enumerate_layouts(world)) == count


def test_enumeration_has_a_stable_order_with_the_first_axis_slowest():
    assert list(map(str, enumerate_layouts(4, ("tp", "dp")))) == ["dp4", "tp2dp2", "tp4"]
    assert list(map(str, enumerate_layouts(4, ("dp", "tp")))) == ["tp4", "tp2dp2", "dp4"]
    assert [str(layout) for layout in enumerate_layouts(16)][:3] == ["dp16", "cp2dp8", "cp4dp4"]


@pytest.mark.parametrize(
    ("world", "axes"),
    [(0, ("tp",)), (-4, ("tp",)), (10**9, ("tp",)), (4, ()), (4, ("tp", "tp")), (4, ("tp", "ep")), (4, ("x",))],
)
def test_enumeration_refuses_what_has_no_layouts(world, axes):
    with pytest.raises(LayoutError, match="; use "):
        enumerate_layouts(world, axes)


@pytest.mark.parametrize("name", architectures.names())
def test_smoke_touches_every_axis_and_runs_on_our_models(name):
    smoke = expand("smoke")
    assert all(layout.world == 16 for layout in smoke)
    for axis in ("tp", "pp", "cp", "dp"):
        assert any(getattr(layout, axis) > 1 for layout in smoke), axis
    assert any(min(layout.tp, layout.pp, layout.cp, layout.dp) > 1 for layout in smoke)
    assert any(layout.vpp for layout in smoke)
    assert any(layout.nosp for layout in smoke)
    refused = [str(layout) for layout in smoke if layout.why_not(architectures.get(name))]
    # The stack wants sequence parallelism with experts; 27 layers need uneven stages, and fit no virtual ones.
    expected = {
        "qwen3-moe": ["tp2cp2dp4nosp"],
        "nemotron-3-nano": ["tp2cp2dp4nosp"],
        "deepseek-v2-lite": ["tp2pp2cp2dp2", "pp4dp4", "tp4pp4", "tp2pp2dp4vpp2", "tp2cp2dp4nosp"],
    }
    assert refused == expected.get(name, [])


@pytest.mark.parametrize("name", architectures.names())
def test_every_factorisation_of_sixteen_can_run_our_dense_models(name):
    if architectures.get(name).num_experts:
        pytest.skip(f"{name} has experts")
    model = architectures.get(name)
    assert [str(layout) for layout in expand("all16") if layout.why_not(model.for_stages(layout.pp))] == []
    assert (model.for_stages(16).num_layers, model.for_stages(8)) == (16, model)


def test_sets_by_name():
    assert expand("all16") == expand(" ALL16 ") == expand("all-16") == enumerate_layouts(16)
    assert expand("tp2") == [Layout.parse("tp2")]
    assert expand("Smoke") == expand("smoke")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all0", "Write all16"),
        ("all", "Write all16"),
        ("all99999999999", "Write all16"),
        ("smok", "did you mean smoke?"),
        ("missing/layouts.txt", "is no file"),
        ("layouts.txt", "is no file"),
        ("xp2", "no such axis"),
        ("tp2\0", "write tp2"),
        ("y" * 5000, "no such axis"),
    ],
)
def test_what_is_neither_layout_nor_set_nor_file_is_refused(text, message):
    with pytest.raises(LayoutError) as error:
        expand(text)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_file_has_one_layout_a_line(tmp_path):
    file = tmp_path / "layouts"
    file.write_text("\ufefftp2dp2  # small\n\n# comment\npp4\ndp2-tp2\n", encoding="utf-8")
    assert expand(str(file)) == [Layout.parse("tp2dp2"), Layout.parse("pp4")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"tp2\nxp2\n", "line 2: 'xp2': no such axis"),
        (b"# nothing\n", "has no layout"),
        (b"", "has no layout"),
        (b"\xff\xfe\x00", "line 1"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, content, message):
    file = tmp_path / "layouts"
    file.write_bytes(content)
    with pytest.raises(LayoutError) as error:
        expand(str(file))
    assert message in str(error.value)
    assert str(file)[:40] in str(error.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(LayoutError, match="is a folder"):
        expand(str(tmp_path))


def test_a_file_never_hides_a_layout_or_a_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dp4", "smoke", "all2"):
        (tmp_path / name).write_text("tp2\n")
        assert expand(name) != [Layout.parse("tp2")]
    assert expand("./dp4") == [Layout.parse("tp2")]
    (tmp_path / "mine").write_text("tp2\n")
    assert expand("mine") == [Layout.parse("tp2")]
