"""A value that was read, with the words it was read from and how sure it is."""

from dataclasses import dataclass, replace

from docmill.reading.pages import Box


@dataclass(frozen=True, slots=True)
class Value:
    """A value as results carry it, and the words it was read from."""

    value: str
    confidence: float
    page: int = 0
    box: Box | None = None
    text: str = ""

    def sure(self, confidence: float) -> "Value":
        return replace(self, confidence=round(confidence, 2))
