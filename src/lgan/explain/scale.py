"""Colours and widths that stand for scores."""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale"]

RGB = tuple[float, float, float]

# Red against blue is told apart by every common kind of colour blindness, and width repeats it.
POSITIVE: RGB = (0.72, 0.06, 0.13)
NEGATIVE: RGB = (0.11, 0.36, 0.67)
NEUTRAL: RGB = (0.80, 0.81, 0.83)
# Behind the black lines of a molecule: light enough to read an atom's symbol on.
POSITIVE_TINT: RGB = (0.96, 0.36, 0.33)
NEGATIVE_TINT: RGB = (0.40, 0.64, 0.92)
WHITE: RGB = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Scale:
    """A scale of colours centred at 0: redder and thicker is more important, blue speaks against.

    Args:
        limit: The score, or its size, that has the full colour.
        signed: Whether scores below 0 are there to be shown.

    Example:
        >>> scale = Scale(2.0)
        >>> scale.weight(-1.0), scale.colour(0.0) == scale.colour(-0.0)
        (0.5, True)
        >>> scale.colour(2.0), scale.colour(-2.0), scale.ticks
        ('#b80f21', '#1c5cab', (-2.0, 0.0, 2.0))
    """

    limit: float
    signed: bool = True

    @staticmethod
    def of(scores: Iterable[float]) -> "Scale":
        """The scale that just holds these scores."""
        values = [float(score) for score in scores]
        return Scale(max(map(abs, values), default=0.0), min(values, default=0.0) < 0)

    @staticmethod
    def joint(scales: Iterable["Scale"]) -> "Scale":
        """The scale that holds what any of these hold, to compare several pictures by colour."""
        given = list(scales)
        return Scale(max((s.limit for s in given), default=0.0), any(s.signed for s in given))

    @property
    def ticks(self) -> tuple[float, ...]:
        """The scores to write beside a colour bar."""
        return (-self.limit, 0.0, self.limit) if self.signed else (0.0, self.limit)

    def weight(self, score: float) -> float:
        """The size of a score in units of the limit, from 0 to 1."""
        return min(abs(score) / self.limit, 1.0) if self.limit > 0 else 0.0

    def colour(self, score: float) -> str:
        """The colour of a line on white, grey where the score is 0."""
        return _hex(_mix(NEUTRAL, NEGATIVE if score < 0 else POSITIVE, self.weight(score)))

    def tint(self, score: float) -> RGB:
        """The colour of a background on which black is read, white where the score is 0."""
        return _mix(WHITE, NEGATIVE_TINT if score < 0 else POSITIVE_TINT, self.weight(score))

    def width(self, score: float, thin: float = 1.5, thick: float = 7.0) -> float:
        """The width of a line."""
        return thin + (thick - thin) * self.weight(score)


def _mix(a: RGB, b: RGB, share: float) -> RGB:
    red, green, blue = (x + (y - x) * share for x, y in zip(a, b, strict=True))
    return red, green, blue


def _hex(colour: RGB) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
