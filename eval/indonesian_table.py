"""The lines and totals of a made-up invoice, over as many pages as they take."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from eval.indonesian_sales import Sold
from eval.indonesian_style import Style


@dataclass
class Col:
    key: str
    x: float
    wide: float
    to: str

    @property
    def anchor(self) -> float:
        return {"left": self.x, "right": self.x + self.wide, "centre": self.x + self.wide / 2}[
            self.to
        ]


def columns(style: Style) -> list[Col]:
    keys = ["row"] if style.chance(0.7) else []
    keys += ["description", "quantity"]
    keys += ["unit"] if style.chance(0.5) else []
    keys += ["price"]
    off = any(line.percent for line in style.deal.lines)
    keys += ["percent"] if off else []
    keys += ["amount"]
    if style.chance(0.15):
        keys.remove("quantity")
        keys.insert(keys.index("description"), "quantity")
    wide = {
        "row": 22.0,
        "quantity": 48.0,
        "unit": 42.0,
        "price": 88.0,
        "percent": 36.0,
        "amount": 92.0,
    }
    rest = 515 - sum(wide.get(key, 0) for key in keys)
    x, found = 40.0, list[Col]()
    for key in keys:
        to = "right" if key in {"price", "percent", "amount"} else "left"
        to = style.rng.choice(["right", "centre"]) if key == "quantity" else to
        found.append(Col(key, x, wide.get(key, rest) - 8, to))
        x += wide.get(key, rest)
    return found


def heading(style: Style, cols: Sequence[Col], names: dict[str, str], y: float) -> float:
    rows = {col.key: style.canvas.wrapped(names[col.key], col.wide) for col in cols}
    deepest = max(len(lines) for lines in rows.values())
    for col in cols:
        for at, line in enumerate(rows[col.key]):
            style.canvas.text(col.anchor, y + at * style.canvas.size * 1.2, line, to=col.to)
    return y + deepest * style.canvas.size * 1.2 + 6


def table(style: Style, y: float) -> float:
    """The lines, over as many pages as they need."""
    cols = columns(style)
    names = {col.key: style.say(col.key) for col in cols}
    y = heading(style, cols, names, y)
    style.priced, style.counted = style.chance(0.25), style.chance(0.5)
    again, inside, split = style.chance(0.6), style.chance(0.15), style.chance(0.3)
    wide = next(col.wide for col in cols if col.key == "description")
    for at, line in enumerate(style.deal.lines, 1):
        texts = style.canvas.wrapped(line.description, wide, inside=inside)
        if y + (1 if split else len(texts)) * style.canvas.size * 1.25 > 770:
            so_far = sum((sold.amount for sold in style.deal.lines[: at - 1]), Decimal(0))
            y = turned(style, cols, names if again else None, so_far)
        level = y + (style.canvas.size * 1.25 * (len(texts) - 1) / 2 if style.middle else 0)
        numbers(style, cols, line, {"row": str(at), **shown(style, cols, line)}, level)
        y = described(style, cols, texts, y)
    return y


def turned(
    style: Style, cols: Sequence[Col], names: dict[str, str] | None, so_far: Decimal
) -> float:
    if style.rng.random() < 0.3:
        word = style.rng.choice(["Subtotal halaman ini", "Dipindahkan", "Carried forward"])
        style.canvas.text(cols[-1].x - 60, 785, word, to="right")
        style.canvas.text(cols[-1].anchor, 785, style.amount(so_far), to=cols[-1].to)
    style.canvas.text(555, 815, f"Hal. {len(style.canvas.pages)}", to="right")
    style.canvas.turn()
    y = 60.0
    if names:
        style.canvas.text(40, 40, style.deal.seller.name)
        return heading(style, cols, names, y)
    return y


def shown(style: Style, cols: Sequence[Col], line: Sold) -> dict[str, str]:
    """What stands in the columns of a line, but for its words."""
    texts = {"unit": line.unit, "amount": style.amount(line.amount, money=style.priced)}
    if line.quantity is None or line.price is None:
        return texts
    glued = style.counted and not any(col.key == "unit" for col in cols)
    texts["quantity"] = style.count(line.quantity) + (f" {line.unit}" if glued else "")
    texts["price"] = style.amount(line.price, money=style.priced)
    texts["percent"] = f"{line.percent:g}%" if line.percent else ""
    return texts


def numbers(
    style: Style, cols: Sequence[Col], line: Sold, texts: dict[str, str], level: float
) -> None:
    """The numbers of a line; on some papers an old amount lies under the new one."""
    for col in cols:
        if style.ghosts and col.key == "amount":
            style.canvas.text(col.anchor, level, style.amount(line.amount + 1000), to=col.to)
        if texts.get(col.key):
            style.canvas.text(col.anchor, level, texts[col.key], to=col.to)


def described(style: Style, cols: Sequence[Col], texts: list[str], y: float) -> float:
    """The words of a line, from row to row, at times on to the next page."""
    x = next(col.x for col in cols if col.key == "description")
    for text in texts:
        if y > 790:
            style.canvas.turn()
            y = 60.0
        style.canvas.text(x, y, text)
        y += style.canvas.size * 1.25
    return y + style.rng.choice([2, 5])


def sums(style: Style, y: float) -> float:
    rows = [*before_tax(style), *taxes(style), *after_tax(style)]
    if y + len(rows) * 14 > 790:
        style.canvas.turn()
        y = 70.0
    return summed(style, y, rows)


def before_tax(style: Style) -> list[tuple[str, Decimal]]:
    sale = style.deal
    total = sum((line.amount for line in sale.lines), Decimal(0))
    rows = [(style.say("net"), total)]
    if style.chance(0.08):
        rows.append(("Subtotal", total))
    if sale.discount:
        rows.append((style.say("off"), -sale.discount if style.chance(0.5) else sale.discount))
    if sale.discount or (sale.rate and style.chance(0.3)):
        rows.append((style.say("base"), sale.net))
    return rows


def taxes(style: Style) -> list[tuple[str, Decimal]]:
    sale = style.deal
    rows = [(style.say("other"), sale.net * 11 / 12)] if sale.rate == "12" else []
    if sale.rate:
        word = style.rng.choice(["PPN {}%", "PPN ({}%)", "VAT {}%"])
        rows.append((word.format(sale.rate), sale.tax))
    return rows


def after_tax(style: Style) -> list[tuple[str, Decimal]]:
    sale = style.deal
    rows = [(style.say("gross"), sale.gross)]
    if sale.withheld:
        rows.append((style.say("withheld"), -sale.withheld if style.chance(0.5) else sale.withheld))
    if sale.paid:
        rows.append((style.say("paid"), sale.paid))
    if sale.withheld or sale.paid:
        rows.append((style.say("left"), sale.gross - sale.withheld - sale.paid))
    return rows


def summed(style: Style, y: float, rows: Sequence[tuple[str, Decimal]]) -> float:
    money, right = style.chance(0.6), style.chance(0.5)
    colon = style.rng.choice(["", " :", ":"])
    for label, value in rows:
        style.canvas.text(430 if right else 350, y, label + colon, to="right" if right else "left")
        style.canvas.text(547, y, style.amount(value, money=money), to="right")
        y += style.canvas.size * 1.5
    return y
