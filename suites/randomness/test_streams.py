"""Each random state of a rank is shared with the ranks that hold the same, and with no others."""

import pytest

from suites.randomness import verdicts

LAYOUTS = ["tp2dp2", "tp2cp2", "pp2dp2", "dp4ep2", "tp2dp2ep2etp1"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_streams_alike(layout, drawn, check):
    check(verdicts.streams_alike(*drawn(layout), check.name))


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if "tp2" in layout or "ep2" in layout])
def test_streams_apart(layout, drawn, check):
    check(verdicts.streams_apart(*drawn(layout), check.name))
