"""A context parallel rank masks attention as if its queries were those of another rank."""

from suites.detection.fault import Fault, On
from suites.detection.planting import replace

FAULT = Fault(
    area="context parallel",
    wrong="A context parallel rank masks attention as if its queries were those of another rank.",
    on=On("tp2cp2"),
    caught_by=("loss", "gradients"),
    module="decoder.layers.0.self_attention*",
    axis="cp",
)


def plant(ctx):
    """See the first line."""
    import torch

    def swapped(original):
        def positions(length, size):
            return torch.cat(list(original(length, size).chunk(size))[::-1])

        return positions

    return replace("fixtures.device.attention:zigzag_positions", swapped)
