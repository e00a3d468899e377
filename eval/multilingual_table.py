"""The lines and sums of `eval.multilingual`: columns in any order, rows that wrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from eval.canvas import width
from eval.multilingual_page import Look
from eval.multilingual_sales import WORDS, Item

BOTTOM: Final = 775.0
WIDE: Final = {
    "row": 24,
    "code": 52,
    "quantity": 46,
    "unit": 38,
    "price": 74,
    "percent": 40,
    "rate": 34,
    "amount": 80,
}


@dataclass
class Column:
    key: str
    label: str
    x: float
    wide: float
    to: str
    head_to: str

    def at(self, to: str) -> float:
        return {"left": self.x, "right": self.x + self.wide, "centre": self.x + self.wide / 2}[to]


@dataclass
class Grid:
    """The table's own choices."""

    columns: list[Column]
    signed: bool
    joined: bool
    level: str  # on which row of a wrapped description the numbers stand
    again: bool
    count_places: int
    gap: float

    def of(self, key: str) -> Column | None:
        return next((column for column in self.columns if column.key == key), None)


def grid(look: Look) -> Grid:
    rng, sale = look.rng, look.sale
    joined = look.chance(0.25)
    keys = ["description", "quantity", *([] if joined or look.chance(0.4) else ["unit"]), "price"]
    keys += ["percent"] if any(line.percent for line in sale.items) else []
    keys += ["rate"] if len(sale.taxes) > 1 or (sale.taxes and look.chance(0.15)) else []
    if look.chance(0.25):
        keys.insert(rng.choice([0, 1]), "code")
    if look.chance(0.2):
        keys.remove("quantity")
        keys.insert(0, "quantity")
    keys = ["row", *keys] if look.chance(0.6) else keys
    keys.append("amount")
    rest = look.right - look.left - sum(WIDE.get(key, 0) for key in keys)
    centred, x, columns = look.chance(0.15), look.left, list[Column]()
    for key in keys:
        to = "right" if key in {"price", "amount"} else "left"
        to = (
            rng.choice(["left", "right", "centre"])
            if key in {"quantity", "percent", "rate"}
            else to
        )
        head_to = "centre" if centred else rng.choice([to, to, to, "left"])
        label = (
            look.say(key) if key != "rate" else rng.choice(["MwSt.", "TVA", "VAT %", "IVA", "Tax"])
        )
        if key in {"price", "amount"} and look.chance(0.15):
            label += f" ({rng.choice(['Rp', 'IDR']) if sale.currency == 'IDR' else sale.currency})"
        wide = float(WIDE.get(key, rest))
        columns.append(
            Column(key, label.upper() if look.chance(0.1) else label, x, wide - 7, to, head_to)
        )
        x += wide
    level = rng.choice(["first", "first", "first", "last", "middle"])
    places = rng.choice([0, 0, 0, 2, 3])
    return Grid(
        columns, look.chance(0.25), joined, level, look.chance(0.6), places, rng.choice([1, 4, 9])
    )


def heading(look: Look, made: Grid, y: float) -> float:
    rows = {column.key: look.canvas.wrapped(column.label, column.wide) for column in made.columns}
    deep = max(map(len, rows.values()))
    for column in made.columns:
        lines = rows[column.key]
        lower = (deep - len(lines)) / 2 if look.chance(0.5) else 0
        for at, line in enumerate(lines):
            top = y + (at + lower) * look.canvas.size * 1.15
            look.canvas.text(column.at(column.head_to), top, line, to=column.head_to)
    return y + deep * look.canvas.size * 1.15 + look.rng.choice([4, 9])


def cells(look: Look, made: Grid, line: Item, row: int) -> dict[str, str]:
    """What stands in the columns, but for the description."""
    found = {
        "row": f"{row}",
        "code": line.code,
        "unit": line.unit,
        "amount": look.amount(line.amount, sign=made.signed),
    }
    found["rate"] = f"{line.rate.replace('.', look.marks[1])}%" if line.rate else ""
    if line.quantity is None or line.price is None:
        return found
    least = max(0, -int(line.quantity.normalize().as_tuple().exponent))
    count = look.number(line.quantity, max(made.count_places, least))
    found["quantity"] = f"{count} {line.unit}" if made.joined else count
    found["price"] = look.amount(line.price, sign=made.signed)
    found["percent"] = f"{line.percent}%" if line.percent else look.rng.choice(["", "0", "-"])
    return found


def table(look: Look, y: float) -> float:
    """The lines, over as many pages as they need; a row may be cut by the end of a page."""
    made = grid(look)
    y = heading(look, made, y)
    words = made.of("description")
    assert words is not None
    ghosts, cut, sections = look.chance(0.06), look.chance(0.3), look.chance(0.08)
    so_far = Decimal(0)
    for row, line in enumerate(look.sale.items, 1):
        if sections and row % 5 == 1:
            look.canvas.text(words.x, y, look.rng.choice(WORDS["extra"]["sections"]))
            y += look.step
        texts = look.canvas.wrapped(line.text, words.wide, inside=look.chance(0.05)) + line.details
        if y + (1 if cut else len(texts)) * look.step > BOTTOM:
            y = turned(look, made, so_far)
        level = {"first": 0, "last": len(texts) - 1, "middle": (len(texts) - 1) / 2}[made.level]
        if ghosts:
            amount = made.columns[-1]
            look.canvas.text(
                amount.at(amount.to),
                y + level * look.step,
                look.amount(line.amount * 2),
                to=amount.to,
            )
        for key, text in cells(look, made, line, row).items():
            if (column := made.of(key)) and text:
                look.canvas.text(column.at(column.to), y + level * look.step, text, to=column.to)
        y = described(look, words.x, y, texts) + made.gap
        so_far += line.amount
    return y


def described(look: Look, x: float, y: float, texts: Sequence[str]) -> float:
    for text in texts:
        if y > BOTTOM + 15:
            look.canvas.turn()
            y = 60.0
        look.canvas.text(x, y, text)
        y += look.step
    return y


def turned(look: Look, made: Grid, so_far: Decimal) -> float:
    """The next page, at times with a carried sum on both, a head of its own, or nothing."""
    carried = look.say("carried") if look.chance(0.25) else ""
    amount = made.columns[-1]
    if carried:
        look.canvas.text(amount.x - 20, 790, carried, to="right")
        look.canvas.text(amount.at(amount.to), 790, look.amount(so_far), to=amount.to)
    look.canvas.text(
        look.right, 830, look.say("page").format(len(look.canvas.pages), "2"), to="right", size=7
    )
    look.canvas.turn()
    y = 55.0
    if look.chance(0.4):
        look.canvas.text(look.left, 38, f"{look.sale.seller.name}   {look.sale.number}")
    y = heading(look, made, y) if made.again else y
    if carried and look.chance(0.5):
        look.canvas.text(amount.x - 20, y, carried, to="right")
        look.canvas.text(amount.at(amount.to), y, look.amount(so_far), to=amount.to)
        y += look.step
    return y


def sums(look: Look, y: float) -> float:
    rows = summed(look)
    if y + len(rows) * look.step * 1.2 > BOTTOM:
        look.canvas.turn()
        y = 70.0
    shape = look.rng.choice(["right", "right", "flush", "full", "signs"])
    x = {"right": 350.0, "flush": 440.0, "full": look.left, "signs": 340.0}[shape]
    signed, colon, under = look.chance(0.5), look.rng.choice(["", ":", " :"]), y
    for label, value in rows:
        text = look.amount(value, sign=signed and shape != "signs")
        text = f"({text.lstrip('-')})" if value < 0 and look.chance(0.2) else text
        look.canvas.text(x, y, label + colon, to="right" if shape == "flush" else "left")
        if shape == "signs":
            wide = width(label, look.canvas.font, look.canvas.size)
            look.canvas.text(
                max(445.0, x + wide + 12), y, look.money.replace("{}", "").strip(" ,-")
            )
        look.canvas.text(look.right - 7, y, text, to="right")
        y += look.step * look.rng.choice([1.0, 1.2])
    if shape in {"right", "flush"} and look.chance(0.3):
        words = look.say("words").format(look.rng.choice(WORDS["extra"]["words"]))
        for at, line in enumerate(look.canvas.wrapped(words, 240)):
            look.canvas.text(look.left, under + at * look.step, line)
    return y


def summed(look: Look) -> list[tuple[str, Decimal]]:
    sale = look.sale
    total = sum((line.amount for line in sale.items), Decimal(0))
    rows = [(look.say("net"), total)] if sale.taxes or sale.off or look.chance(0.5) else []
    if sale.off:
        rows += [(look.say("off"), -sale.off if look.chance(0.6) else sale.off)]
        rows += [(look.say("base"), sale.net)]
    elif sale.taxes and look.chance(0.2):
        rows += [(look.say("base"), sale.net)]
    rows += taxed(look)
    rows += [(look.say("gross"), sale.gross)]
    if sale.withheld:
        rows += [(look.say("withheld"), -sale.withheld if look.chance(0.5) else sale.withheld)]
    if sale.paid:
        rows += [(look.say("paid"), -sale.paid if look.chance(0.4) else sale.paid)]
    if sale.paid or sale.withheld:
        rows += [(look.say("left"), sale.gross - sale.withheld - sale.paid)]
    return rows


def taxed(look: Look) -> list[tuple[str, Decimal]]:
    sale, rows = look.sale, list[tuple[str, Decimal]]()
    for rate, base, tax in sale.taxes:
        if rate == "12":
            rows.append((look.say("other_base"), base * 11 / 12))
        several = len(sale.taxes) > 1
        words = [word for word in WORDS[sale.lang]["tax"] if "{}" in word and ",00" not in word]
        label = look.rng.choice(words) if several else look.say("tax")
        if "." in rate:
            label = label.replace("{},00", "{}")
        rows.append((label.format(rate.replace(".", look.marks[1])), tax))
    return rows
