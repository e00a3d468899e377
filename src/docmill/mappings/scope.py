"""What a mapping's functions and paths can see while one invoice is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from docmill.mappings.amounts import number
from docmill.mappings.profile import Profile
from docmill.mappings.texts import at, clean, is_list

Made = TypeVar("Made")


@dataclass(slots=True)
class Findings:
    """What a person should look at (paths of the invoice) and why, in the order found."""

    review: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])

    def flag(self, path: str, note: str = "") -> None:
        self.review[path] = None
        if note:
            self.note(f"{path}: {note}")

    def note(self, note: str) -> None:
        self.notes[note] = None


@dataclass(frozen=True, slots=True)
class Scope:
    """One invoice, its owner's profile, and inside a repeat the item and its path."""

    invoice: Mapping[str, Any]
    profile: Profile
    findings: Findings
    item: object = None
    item_path: str = ""
    made: dict[Callable[..., Any], Any] = field(default_factory=dict[Callable[..., Any], Any])

    def once(self, make: Callable[["Scope"], Made]) -> Made:
        """The outcome of a function of this invoice, computed the first time it is asked for."""
        if make not in self.made:
            self.made[make] = make(self)
        return self.made[make]

    def inside(self, item: object, path: str) -> "Scope":
        return Scope(self.invoice, self.profile, self.findings, item, path, self.made)

    def value(self, path: str) -> Any:
        if path.startswith("."):
            return at(self.item, path[1:])
        if path.startswith("profile."):
            return getattr(self.profile, path.removeprefix("profile."))
        return at(self.invoice, path)

    def text(self, path: str) -> str:
        return clean(self.value(path))

    def number(self, path: str) -> Decimal | None:
        return number(self.value(path))

    def lines(self) -> list[Any]:
        found = self.value("lines")
        return found if is_list(found) else []
