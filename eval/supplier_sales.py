"""What the invoices of eval/suppliers.py are about: two firms, lines, days and sums."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any, Final

CENT: Final = Decimal("0.01")
NUMBERS: Final = (
    "INV-{n:04}", "INV {n:04}", "{y}-{n:04}", "FV {n}/{m:02}/{y}", "{y}/{n:03}", "F{y}-{n:03}",
    "{n}/{y}", "RE-{n}", "A {n:05}", "{y}{n:05}", "{n:06}", "SI/{y}/{m:02}/{n:04}", "FT {y}/{n}",
)  # fmt: skip
DUES: Final = ("label", "label", "prose", "terms", "none")
SUMS: Final = ("plain", "plain", "discount", "freight", "rates", "paid", "untaxed", "after")


@dataclass(frozen=True, slots=True)
class MadeFirm:
    """Who sells or buys."""

    name: str
    street: str
    town: str
    vat: str
    phone: str
    mail: str


@dataclass(frozen=True, slots=True)
class MadeItem:
    """One line of an invoice."""

    text: str
    quantity: Decimal
    unit: str
    price: Decimal
    rate: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class MadeInvoice:
    """All that an invoice says; `words` are those that it has chosen to say it with."""

    random: Random
    words: dict[str, Any]
    number: str
    issued: date
    due: date
    due_kind: str
    sums: str
    seller: MadeFirm
    buyer: MadeFirm
    items: tuple[MadeItem, ...]
    places: int
    date_form: str
    money_form: str

    def say(self, concept: str) -> str:
        """The word for something, the same one each time."""
        return Random(f"{self.number}{concept}").choice(self.words[concept])

    def print_day(self, day: date) -> str:
        month = self.words["months"][day.month - 1]
        return self.date_form.format(d=day.day, m=month, n=day.month, y=day.year, s=day.year % 100)

    def print_number(self, value: Decimal, places: int | None = None) -> str:
        group, mark = self.words["numbers"]
        text = f"{value:,.{self.places if places is None else places}f}"
        return text.replace(",", "~").replace(".", mark).replace("~", group)

    def print_money(self, value: Decimal) -> str:
        text = self.money_form.format(self.print_number(abs(value)))
        return f"-{text}" if value < 0 else text

    @property
    def goods(self) -> Decimal:
        return sum((item.amount for item in self.items), Decimal(0))

    @property
    def extra(self) -> Decimal:
        """What goes off the goods or comes on top of them before tax."""
        if self.sums in {"discount", "after"}:
            return -self.round(self.goods / 10)
        return self.round(Decimal(15) * self.scale) if self.sums == "freight" else Decimal(0)

    @property
    def scale(self) -> int:
        return 1 if self.places else 1000 if self.words["currency"] == "IDR" else 100

    def round(self, value: Decimal) -> Decimal:
        return value.quantize(CENT if self.places else Decimal(1), ROUND_HALF_UP)

    @property
    def taxes(self) -> list[tuple[str, Decimal, Decimal]]:
        """By rate: what is taxed, and the tax."""
        if self.sums == "untaxed":
            return []
        bases: dict[str, Decimal] = {}
        for item in self.items:
            bases[item.rate] = bases.get(item.rate, Decimal(0)) + item.amount
        first = next(iter(bases))
        bases[first] += self.extra
        return [
            (rate, base, self.round(base * Decimal(rate.replace(",", ".")) / 100))
            for rate, base in bases.items()
        ]

    @property
    def tax(self) -> Decimal:
        return sum((tax for _, _, tax in self.taxes), Decimal(0))

    @property
    def gross(self) -> Decimal:
        return self.goods + self.extra + self.tax

    @property
    def paid(self) -> Decimal:
        return self.round(self.gross / 4) if self.sums == "paid" else Decimal(0)


def make_invoice(random: Random, words: dict[str, Any]) -> MadeInvoice:
    issued = date(2025, 1, 3) + timedelta(random.randrange(500))
    sums = random.choice(SUMS)
    places = 0 if words["currency"] in {"HUF", "IDR"} else 2
    several = sums == "rates" and len(words["rates"]) > 1
    items: list[MadeItem] = []
    for text in random.sample(words["things"], random.randint(1, 4)):
        quantity = Decimal(random.choice(("1", "2", "3", "5", "8", "12", "2.5")))
        scale = 1 if places else 1000 if words["currency"] == "IDR" else 100
        price = Decimal(random.randint(400, 90_000)) / 100 * scale
        price = price.quantize(CENT) if places else price.quantize(Decimal(1))
        amount = (quantity * price).quantize(CENT if places else Decimal(1), ROUND_HALF_UP)
        rate = random.choice(words["rates"]) if several else words["rates"][0]
        items.append(MadeItem(text, quantity, random.choice(words["units"]), price, rate, amount))
    names = random.sample(words["stems"], 2)
    seller, buyer = (_make_firm(random, words, name) for name in names)
    if random.random() < 0.3:
        buyer = MadeFirm(random.choice(words["people"]), buyer.street, buyer.town, "", "", "")
    days = random.choice((7, 10, 14, 21, 30, 45, 60))
    form = random.choice(NUMBERS)
    return MadeInvoice(
        random=random,
        words=words,
        number=form.format(n=random.randint(12, 9800), y=issued.year, m=issued.month),
        issued=issued,
        due=issued + timedelta(days),
        due_kind=random.choice(DUES),
        sums=sums,
        seller=seller,
        buyer=buyer,
        items=tuple(items),
        places=places,
        date_form=random.choice(words["dates"]),
        money_form=random.choice(words["money"]),
    )


def _make_firm(random: Random, words: dict[str, Any], stem: str) -> MadeFirm:
    host = "".join(char for char in stem.lower() if char.isascii() and char.isalpha())
    return MadeFirm(
        random.choice(words["forms"]).format(stem),
        random.choice(words["streets"]),
        random.choice(words["towns"]),
        words["vat"],
        f"0{random.randint(20, 99)} {random.randint(100, 999)} {random.randint(10, 99)} 0",
        f"info@{host}.example",
    )
