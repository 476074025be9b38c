"""One line of a benchmark: what was measured, our figure, the peer's, and the bar."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Figure = Literal["speedup", "share", "ratio", "seconds", "memory"]

_AT_LEAST = ("speedup", "share")


@dataclass(frozen=True)
class Bar:
    """What a row must reach.

    Attributes:
        figure: What is judged: ``speedup`` (the peer's time over ours), ``share`` (the same
            against a physical limit), ``ratio`` (our time over the peer's), ``seconds`` or
            ``memory`` (bytes) of ours.
        limit: The number to reach, or not to exceed.
    """

    figure: Figure
    limit: float

    @property
    def direction(self) -> Literal["at least", "at most"]:
        """On which side of the limit a row has to be."""
        return "at least" if self.figure in _AT_LEAST else "at most"

    def reached(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return value >= self.limit if self.figure in _AT_LEAST else value <= self.limit

    def text(self, value: float) -> str:
        """A value of this figure, for people: ``10×`` is a speed-up, a bare number a ratio."""
        match self.figure:
            case "speedup":
                return f"{value:.3g}×"
            case "share":
                return f"{value:.0%}"
            case "ratio":
                return f"{value:.3g}"
            case "seconds":
                return f"{value:.3g} s" if value < 1000 else f"{value:,.0f} s"
            case "memory":
                return f"{value / 2**30:.3g} GiB"

    def __str__(self) -> str:
        return f"{'≥' if self.direction == 'at least' else '≤'} {self.text(self.limit)}"


@dataclass(frozen=True)
class Row:
    """A measurement beside its peer.

    Attributes:
        name: The case, unique together with the peer within a benchmark.
        what: What was measured, with sizes.
        seconds: Our time, a median; ``None`` where it was not measured.
        peer: What ours is compared with, if anything.
        peer_seconds: The peer's time in the same run, a median; ``None`` where it was not run
            or did not finish, which ``note`` explains.
        memory: Our peak memory in bytes, where asked for.
        peer_memory: The peer's.
        bar: What must be reached, where something must.
        size: Entries, edges or graphs worked on, where rows differ in nothing else.
        note: What a reader must know to read the row.
        detail: Further numbers: spread of the repeats, rates, counts.
    """

    name: str
    what: str
    seconds: float | None
    peer: str | None = None
    peer_seconds: float | None = None
    memory: int | None = None
    peer_memory: int | None = None
    bar: Bar | None = None
    size: int | None = None
    note: str = ""
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Our time over the peer's: below 1, ours is faster."""
        if self.seconds is None or not self.peer_seconds:
            return None
        return self.seconds / self.peer_seconds

    @property
    def figure(self) -> float | None:
        """The number the bar judges, if there is a bar and the number is known."""
        if self.bar is None:
            return None
        match self.bar.figure:
            case "seconds":
                return self.seconds
            case "memory":
                return self.memory
            case "ratio":
                return self.ratio
        return None if not self.ratio else 1 / self.ratio

    @property
    def holds(self) -> bool | None:
        """Whether the bar is reached; ``None`` without a bar or without its number."""
        if self.bar is None or self.figure is None:
            return None
        return self.bar.reached(self.figure)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with what follows from them beside them."""
        plain = asdict(self)
        if self.bar is not None:
            plain["bar"]["direction"] = self.bar.direction
        return plain | {"ratio": self.ratio, "holds": self.holds}

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "Row":
        """The row back from :meth:`to_json`."""
        kept = {key: value for key, value in plain.items() if key not in ("ratio", "holds")}
        if kept["bar"] is not None:
            kept["bar"] = Bar(kept["bar"]["figure"], kept["bar"]["limit"])
        return Row(**kept)


def seconds_text(value: float | None) -> str:
    """A time, for people; nothing for none."""
    if value is None:
        return ""
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def memory_text(held: float | None) -> str:
    """Bytes, for people; nothing for none."""
    if held is None:
        return ""
    return f"{held / 2**20:,.0f} MiB" if held < 2**30 else f"{held / 2**30:.2f} GiB"
