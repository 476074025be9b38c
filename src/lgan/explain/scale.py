"""Colours and widths that stand for scores."""

from collections.abc import Iterable
from dataclasses import dataclass

RGB = tuple[float, float, float]

# Red against blue is told apart by every common kind of colour blindness. Both are light enough
# to read the black symbol of an atom on them.
POSITIVE: RGB = (0.90, 0.30, 0.25)
NEGATIVE: RGB = (0.33, 0.57, 0.92)
NEUTRAL: RGB = (0.87, 0.88, 0.89)


@dataclass(frozen=True)
class Scale:
    """A scale of colours centred at 0: the redder above it, the bluer below, grey at 0.

    Args:
        limit: The score, or its size, that has the full colour.

    Example:
        >>> scale = Scale(2.0)
        >>> scale.weight(-1.0), scale.colour(0.0) == scale.colour(-0.0)
        (0.5, True)
        >>> scale.colour(2.0), scale.colour(-2.0)
        ('#e64c40', '#5491eb')
    """

    limit: float

    @staticmethod
    def of(scores: Iterable[float]) -> "Scale":
        """The scale that just holds these scores."""
        return Scale(max((abs(float(score)) for score in scores), default=0.0))

    @staticmethod
    def joint(scales: Iterable["Scale"]) -> "Scale":
        """The scale that holds what any of these hold, to compare several pictures by colour."""
        return Scale(max((scale.limit for scale in scales), default=0.0))

    def weight(self, score: float) -> float:
        """The size of a score in units of the limit, from 0 to 1."""
        return min(abs(score) / self.limit, 1.0) if self.limit > 0 else 0.0

    def rgb(self, score: float) -> RGB:
        """The colour of a score, parts from 0 to 1."""
        end, share = NEGATIVE if score < 0 else POSITIVE, self.weight(score)
        red, green, blue = (x + (y - x) * share for x, y in zip(NEUTRAL, end, strict=True))
        return red, green, blue

    def colour(self, score: float) -> str:
        """The colour of a score as ``#rrggbb``."""
        return "#" + "".join(f"{round(255 * part):02x}" for part in self.rgb(score))

    def width(self, score: float) -> float:
        """The width of a line."""
        return 1.5 + 5.5 * self.weight(score)
