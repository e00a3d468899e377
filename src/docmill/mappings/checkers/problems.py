"""What a checker has to say about a document."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule: its id, its sentence, where, and the value it concerns.

    `field` is the path of the invoice a person would fill in, where the rule tells.
    """

    rule: str
    sentence: str
    place: str = ""
    value: str = ""
    severity: Severity = "fatal"
    field: str = ""

    def __str__(self) -> str:
        value = f" ({self.value})" if self.value else ""
        return f"{self.rule}: {self.sentence} [{self.place}]{value}"


def passed(problems: Iterable[Problem]) -> bool:
    """Nothing fatal; warnings are for a person's eyes."""
    return all(problem.severity == "warning" for problem in problems)
