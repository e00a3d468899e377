"""What a mapping's functions and paths can see while one invoice is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from docmill.core.json_values import is_list
from docmill.invoices.checks import line_amount
from docmill.invoices.profile import Profile
from docmill.invoices.values import (
    HUNDRED,
    NOTHING,
    clean,
    look_up,
    parse_number,
    round_cents,
)

Made = TypeVar("Made")


@dataclass(slots=True)
class Findings:
    """What a person should look at (paths of the invoice) and why, in the order found."""

    review: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    missing: dict[str, None] = field(default_factory=dict[str, None])

    def miss(self, path: str) -> None:
        """Nothing stands there, and the format can't do without."""
        self.flag(path)
        self.missing[path] = None

    def flag(self, path: str, note: str = "") -> None:
        self.review[path] = None
        if note:
            self.note(f"{path}: {note}")

    def note(self, note: str) -> None:
        self.notes[note] = None


@dataclass(frozen=True, slots=True)
class MappingScope:
    """One invoice, its owner's profile, and inside a repeat the item and its path."""

    invoice: Mapping[str, Any]
    profile: Profile
    findings: Findings
    item: object = None
    item_path: str = ""
    made: dict[Callable[..., Any], Any] = field(default_factory=dict[Callable[..., Any], Any])

    def once(self, make: Callable[["MappingScope"], Made]) -> Made:
        """The outcome of a function of this invoice, computed the first time it is asked for."""
        if make not in self.made:
            self.made[make] = make(self)
        return self.made[make]

    def inside(self, item: object, path: str) -> "MappingScope":
        return MappingScope(self.invoice, self.profile, self.findings, item, path, self.made)

    def value(self, path: str) -> Any:
        if path.startswith("."):
            return self._value_inside(path[1:])
        if path.startswith("profile."):
            return getattr(self.profile, path.removeprefix("profile."))
        return look_up(self.invoice, path)

    def _value_inside(self, name: str) -> Any:
        """Of the item; what a row made of a line does not hold is as the line prints it."""
        index, lines = getattr(self.item, "index", None), self.lines()
        if hasattr(self.item, name) or not isinstance(index, int) or index >= len(lines):
            return look_up(self.item, name)
        return look_up(lines[index], name)

    def text(self, path: str) -> str:
        return clean(self.value(path))

    def number(self, path: str) -> Decimal | None:
        return parse_number(self.value(path))

    def lines(self) -> list[Any]:
        found = self.value("lines")
        return found if is_list(found) else []


@dataclass(frozen=True, slots=True)
class Function:
    """`row` is the dataclass of each row when it gives a list; its fields are the paths inside.

    A row with an `index` stands for a line, and its paths are also those of the line.
    """

    call: Callable[[MappingScope], Any]
    row: type[Any] | None = None


@dataclass(frozen=True, slots=True)
class LineFigures:
    """A line's numbers; None is not printed. The discount is an amount, never negative."""

    quantity: Decimal | None
    price: Decimal | None
    discount: Decimal
    amount: Decimal | None
    index: int = 0

    @property
    def computed_amount(self) -> Decimal | None:
        if self.quantity is None or self.price is None:
            return None
        return line_amount(self.quantity, self.price, self.discount)

    @property
    def worth(self) -> Decimal | None:
        """What the line comes to: as printed, else as its numbers make it."""
        return self.computed_amount if self.amount is None else self.amount

    def disagrees(self, tolerance: Decimal) -> bool:
        if self.computed_amount is None or self.amount is None:
            return False
        return abs(self.computed_amount - self.amount) >= tolerance


def read_figures(line: object, index: int) -> LineFigures:
    names = ("quantity", "unit_price", "amount", "discount")
    quantity, price, amount, off = (parse_number(look_up(line, name)) for name in names)
    discount = abs(off or NOTHING)
    if quantity is not None and price is not None and amount is not None:
        discount = _discount_amount(quantity * price, discount, amount)
    return LineFigures(quantity, price, discount, amount, index)


def _discount_amount(whole: Decimal, discount: Decimal, amount: Decimal) -> Decimal:
    """A discount printed in percent, when only that makes the line come out."""
    percent, wanted = round_cents(whole * discount / HUNDRED), round_cents(amount)
    by_amount, by_percent = round_cents(whole - discount), round_cents(whole - percent)
    return percent if by_percent == wanted != by_amount else discount
