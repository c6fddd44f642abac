"""Activations that are computed again have the dropout masks that they had."""

import pytest

LAYOUTS = ["dp1", "tp2", "tp2nosp", "pp2vpp2"]
# float64, the same operations in the same order: nothing but the order in which a device adds may differ. A sum of n terms then
# moves by about sqrt(n) unit roundoffs (Higham and Mary, SIAM J. Sci. Comput. 41, 2019): 1e-13 for the 2**20 terms that no sum
# here has. Some hundred such sums follow each other from the loss to the first layer: 1e-11, and 10 for what they amplify.
# On a CPU the distance is 0. Another mask moves gradients by orders of magnitude more, which each run shows with another seed.
TOLERANCE = 1e-10
VISIBLE = 1e-3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_recompute_repeats_dropout(layout, recomputed, check):
    ranks = recomputed(layout)
    worst = max(range(len(ranks)), key=lambda rank: ranks[rank]["recomputed"])
    distance, visible = ranks[worst]["recomputed"], max(found["other_seed"] for found in ranks)
    finding = None
    if not distance <= TOLERANCE:
        finding = (
            f"{check.name}: gradients on rank {worst} differ by {distance:.3g} of the largest one when activations are "
            f"recomputed, allowed {TOLERANCE:g}\n  another dropout mask gives {visible:.3g}: look at the random states and at "
            "the input that the recomputation starts from"
        )
    elif visible < VISIBLE:
        finding = f"{check.name}: another seed changes gradients by {visible:.3g} only: dropout is off, and nothing is shown"
    check(finding, measured=distance, tolerance=TOLERANCE)
