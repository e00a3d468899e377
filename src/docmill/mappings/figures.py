"""What the numbers of one printed line mean together: quantity, price, discount, amount."""

from dataclasses import dataclass
from decimal import Decimal

from docmill.mappings.amounts import HUNDRED, NOTHING, cents, number
from docmill.mappings.texts import at


@dataclass(frozen=True, slots=True)
class Figures:
    """A line's numbers; None is not printed. The discount is an amount, never negative."""

    quantity: Decimal | None
    price: Decimal | None
    discount: Decimal
    amount: Decimal | None
    index: int = 0

    @property
    def computed(self) -> Decimal | None:
        if self.quantity is None or self.price is None:
            return None
        return self.quantity * self.price - self.discount

    @property
    def worth(self) -> Decimal | None:
        """What the line comes to: as printed, else as its numbers make it."""
        return self.computed if self.amount is None else self.amount

    def disagrees(self, tolerance: Decimal) -> bool:
        if self.computed is None or self.amount is None:
            return False
        return abs(self.computed - self.amount) >= tolerance


def figures(line: object, index: int) -> Figures:
    quantity, price = number(at(line, "quantity")), number(at(line, "unit_price"))
    amount = number(at(line, "amount"))
    discount = abs(number(at(line, "discount")) or NOTHING)
    if quantity is not None and price is not None and amount is not None:
        discount = _as_amount(quantity * price, discount, amount)
    return Figures(quantity, price, discount, amount, index)


def _as_amount(whole: Decimal, discount: Decimal, amount: Decimal) -> Decimal:
    """A discount printed in percent, when only that makes the line come out."""
    percent = cents(whole * discount / HUNDRED)
    if cents(whole - discount) != cents(amount) and cents(whole - percent) == cents(amount):
        return percent
    return discount
