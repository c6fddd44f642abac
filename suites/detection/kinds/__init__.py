"""What is run with a fault planted, and which checks judge it. One file a kind; each calls the ordinary checks."""

from suites.detection.kinds.base import Kind, Planted
from suites.detection.kinds.data import Data
from suites.detection.kinds.masked import Masked
from suites.detection.kinds.memory import Memory
from suites.detection.kinds.pair import Pair
from suites.detection.kinds.randomness import Randomness
from suites.detection.kinds.step import Step

__all__ = ["KINDS", "Kind", "Planted"]

KINDS: dict[str, type] = {
    "masked": Masked,
    "memory": Memory,
    "randomness": Randomness,
    "pair": Pair,
    "step": Step,
    "data": Data,
}
