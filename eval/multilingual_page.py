"""The pages of `eval.multilingual`: heads, blocks, facts, in shapes that real companies use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from random import Random
from typing import Final

from eval.canvas import A4, Canvas, width
from eval.indonesian_sales import rounded
from eval.multilingual_sales import WORDS, Firm, Sale

FRENCH: Final = [
    "janv",
    "févr",
    "mars",
    "avr",
    "mai",
    "juin",
    "juil",
    "août",
    "sept",
    "oct",
    "nov",
    "déc",
]
SIGNS: Final = {
    "IDR": ["Rp {}", "Rp{}", "Rp. {}", "IDR {}", "Rp.{},-", "{} IDR"],
    "EUR": ["{} €", "€ {}", "{} EUR", "EUR {}", "€{}"],
    "USD": ["${}", "$ {}", "USD {}", "{} USD", "US$ {}"],
    "GBP": ["£{}", "GBP {}", "£ {}"],
    "SGD": ["S$ {}", "SGD {}", "{} SGD"],
}


@dataclass
class Look:
    """What is chosen once for one invoice."""

    rng: Random
    canvas: Canvas
    sale: Sale
    marks: tuple[str, str]  # thousands, decimal
    money: str
    dates: Callable[[date], str]
    left: float
    right: float
    seller_at: str
    cents: int = 0
    due_shown: bool = False

    def say(self, key: str) -> str:
        lang = self.sale.lang
        word = self.rng.choice(WORDS[lang][key])
        if lang == "id" and key in WORDS["en"] and "{}" not in word and self.chance(0.1):
            return f"{word} / {self.rng.choice(WORDS['en'][key])}"
        return word

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def number(self, value: Decimal, places: int) -> str:
        text = f"{rounded(value, places):,f}"
        return text.translate(str.maketrans({",": self.marks[0], ".": self.marks[1]}))

    def amount(self, value: Decimal, *, sign: bool = False) -> str:
        text = self.number(value, self.cents)
        return self.money.format(text) if sign else text

    @property
    def step(self) -> float:
        return self.canvas.size * 1.35


def dated(rng: Random, sale: Sale) -> Callable[[date], str]:
    months: list[str] = WORDS[sale.lang]["months"]
    short = FRENCH if sale.lang == "fr" else [month[:3] for month in months]
    american = sale.lang == "en" and sale.currency == "USD" and rng.random() < 0.4
    shapes: list[Callable[[date], str]] = [
        lambda d: f"{d:%m/%d/%Y}" if american else f"{d:%d/%m/%Y}",
        lambda d: f"{d:%d.%m.%Y}" if sale.lang != "en" else f"{d:%Y-%m-%d}",
        lambda d: f"{d:%Y-%m-%d}",
        lambda d: f"{d.day} {months[d.month - 1]} {d.year}",
        lambda d: f"{d.day:02} {short[d.month - 1]} {d.year}",
        lambda d: f"{d.day:02}-{short[d.month - 1]}-{d:%y}",
        lambda d: f"{d:%d-%m-%Y}",
        lambda d: f"{d.day}. {months[d.month - 1]} {d.year}",
        lambda d: (
            f"{months[d.month - 1]} {d.day}, {d.year}" if sale.lang == "en" else f"{d:%d.%m.%y}"
        ),
        lambda d: (
            f"{d:%Y/%m/%d}" if sale.lang == "id" else f"{d.day} {months[d.month - 1]} {d.year}"
        ),
    ]
    return rng.choice(shapes)


def look(rng: Random, sale: Sale) -> Look:
    marks = {
        "id": rng.choice([(".", ","), (".", ","), (",", ".")]),
        "en": (",", "."),
        "de": rng.choice([(".", ","), (".", ","), ("'", "."), ("", ",")]),
        "fr": rng.choice([(" ", ","), ("\u00a0", ","), (" ", ","), ("", ","), (".", ",")]),
        "es": rng.choice([(".", ","), (".", ","), ("", ",")]),
    }[sale.lang]
    font = rng.choice(["Helvetica", "Helvetica", "Times-Roman", "Courier"])
    canvas = Canvas(font, rng.choice([6, 6.5] if font == "Courier" else [7, 8, 9, 9.5, 10.5]))
    left = rng.choice([28.0, 45.0, 60.0])
    at = rng.choice(["left", "right", "centre", "foot", "bank", "sender", "left", "right"])
    made = Look(rng, canvas, sale, marks, rng.choice(SIGNS[sale.currency]), dated(rng, sale), left,
                A4[0] - left, at)  # fmt: skip
    whole = all(line.amount == int(line.amount) for line in sale.items)
    whole = whole and all(v == int(v) for v in (sale.tax, sale.off, sale.withheld, sale.paid))
    whole = whole and sale.net * 11 % 12 == 0
    made.cents = 0 if whole and not sale.places and rng.random() < 0.7 else 2
    return made


def stack(look: Look, x: float, y: float, lines: Sequence[str], *, to: str = "left") -> float:
    for line in lines:
        look.canvas.text(x, y, line, to=to)
        y += look.step
    return y


def head(look: Look) -> float:
    """Letterhead by place; in some the seller is at the foot, the bank or over the window."""
    rng, firm, y = look.rng, look.sale.seller, 48.0
    if look.seller_at in {"left", "right", "centre"}:
        x = {"left": look.left, "right": look.right, "centre": A4[0] / 2}[look.seller_at]
        if look.chance(0.15):
            look.canvas.text(x, y, rng.choice(WORDS["extra"]["slogans"]), to=look.seller_at, size=7)
            y += 14
        big = look.canvas.size * rng.choice([1, 1, 1.3, 2])
        look.canvas.text(x, y, firm.name, to=look.seller_at, size=big)
        y += big * 1.2
        if look.chance(0.25):
            y = stack(look, x, y, [rng.choice(WORDS["extra"]["slogans"])], to=look.seller_at)
        said = [firm.street, firm.town] if look.chance(0.6) else [f"{firm.street}, {firm.town}"]
        said += [
            look.say("phone").format(firm.phone),
            "www.example.com",
            look.say("tax_id").format(firm.tax_id),
        ]
        y = stack(look, x, y, said[: rng.randrange(1, len(said) + 1)], to=look.seller_at)
    if look.chance(0.75):
        x, to = rng.choice([(look.left, "left"), (look.right, "right"), (A4[0] / 2, "centre")])
        top = 50.0 if look.chance(0.3) and look.seller_at not in {to, "centre"} else y + 14
        look.canvas.text(
            x, top, look.say("title"), to=to, size=look.canvas.size * rng.choice([1.2, 1.6, 2.4])
        )
        y = max(y, top + 8)
    return y + 26


def pairs(look: Look) -> list[tuple[str, str]]:
    """Labels and values, those asked for among others."""
    sale, rng = look.sale, look.rng
    found = [(look.say("number"), sale.number), (look.say("date"), look.dates(sale.issued))]
    if sale.due and look.chance(0.8):
        found.append((look.say("due"), look.dates(sale.due)))
        look.due_shown = True
    others = {
        "order": f"{rng.choice(['PO-', '45000', ''])}{rng.randrange(1000, 99999)}",
        "delivery": f"{rng.choice(['SJ/', 'DN', ''])}{rng.randrange(1000, 99999)}",
        "client": f"{rng.choice(['C', 'K-', ''])}{rng.randrange(1000, 99999)}",
        "other_date": look.dates(date.fromordinal(sale.issued.toordinal() - rng.randrange(2, 40))),
        "terms": rng.choice(WORDS[sale.lang]["terms_value"]),
    }
    found += [(look.say(key), value) for key, value in others.items() if look.chance(0.3)]
    if look.chance(0.4):
        rng.shuffle(found)
    return found


def facts(look: Look, x: float, y: float, found: Sequence[tuple[str, str]]) -> float:
    """Two columns, one run of text, label above value, numbered labels, right-aligned labels."""
    canvas, size = look.canvas, look.canvas.size
    shape = look.rng.choice(["columns", "colon", "spaced", "above", "numbered", "flush", "columns"])
    widest = max(width(label, canvas.font, size) for label, _ in found)
    for at, (label, value) in enumerate(found, 1):
        if shape in {"columns", "flush"}:
            far = x + widest + 14
            canvas.text(
                far - 8 if shape == "flush" else x,
                y,
                label,
                to="right" if shape == "flush" else "left",
            )
            canvas.text(far, y, look.rng.choice(["", ": "]) + value if at == 1 else value)
        elif shape == "above":
            canvas.text(x, y, label, size=size * 0.85)
            y += size * 1.15
            canvas.text(x, y, value)
            y += size * 0.4
        else:
            mark = {"colon": f"{label}: ", "spaced": f"{label} : ", "numbered": f"{at}){label} "}[
                shape
            ]
            canvas.text(x, y, mark + value)
        y += look.step
    return y


def across(look: Look, y: float, found: Sequence[tuple[str, str]]) -> float:
    """A ruled band: labels in one row, wrapped, values below."""
    step = (look.right - look.left) / max(len(found), 3)
    named = [look.canvas.wrapped(label, step - 6) for label, _ in found]
    deep = max(map(len, named))
    for at, (lines, (_, value)) in enumerate(zip(named, found, strict=True)):
        stack(look, look.left + at * step, y, lines)
        said = look.canvas.wrapped(value, step)
        stack(look, look.left + at * step, y + deep * look.step + 3, said)
    return y + (deep + 2) * look.step + 4


def address(look: Look, firm: Firm) -> list[str]:
    lines = [firm.name, firm.street, firm.town]
    if look.chance(0.25):
        lines.insert(look.rng.choice([1, 1, 3]), look.say("attn").format(firm.person))
    if look.chance(0.3):
        lines.append(look.say("tax_id").format(firm.tax_id))
    return lines


def buyer(look: Look, x: float, y: float) -> float:
    """Labelled above, beside, field by field, or only standing in the window."""
    firm, shape = look.sale.buyer, look.rng.choice(["above", "above", "beside", "fields", "bare"])
    if look.seller_at == "sender":
        sender = look.sale.seller
        line = f"{sender.name} - {sender.street} - {sender.town}"
        look.canvas.text(x, y, line, size=6)
        y += 14
        shape = look.rng.choice(["bare", "bare", "above"])
    if shape == "fields":
        look.canvas.text(x, y, look.say("buyer"))
        named = {"id": ["Nama", "Alamat", "Kota"], "de": ["Name", "Straße", "Ort"]}
        keys = named.get(look.sale.lang, ["Name", "Address", "City"])
        values = [firm.name, firm.street, firm.town]
        for key, value in zip(keys, values, strict=True):
            y += look.step
            look.canvas.text(x, y, key)
            look.canvas.text(x + 46, y, f": {value}")
        return y + look.step
    if shape == "beside":
        label = look.say("buyer").rstrip(":")
        far = x + width(label, look.canvas.font, look.canvas.size) + 10
        look.canvas.text(x, y, label)
        look.canvas.text(far - 6, y, ":")
        return stack(look, far, y, address(look, firm))
    if shape == "above":
        y = stack(look, x, y, [look.say("buyer") + look.rng.choice(["", ":"])])
    return stack(look, x, y, address(look, firm))


def shipping(look: Look, x: float, y: float) -> float:
    firm = look.sale.buyer
    other = look.rng.choice([f"{look.rng.choice(['Gudang', 'Warehouse', 'Lager'])} 2", firm.name])
    return stack(
        look,
        x,
        y,
        [
            look.say("ship"),
            other,
            look.rng.choice(WORDS["streets"][look.sale.lang]).format(7),
            firm.town,
        ],
    )


def top(look: Look, y: float) -> float:
    """Buyer and facts, beside each other either way, or one after the other; at times ship-to."""
    found = pairs(look)
    half, shape = A4[0] / 2 + 10, look.rng.choice(["buyer", "facts", "down", "band", "buyer"])
    if shape == "buyer":
        return max(buyer(look, look.left, y), facts(look, half + 20, y, found))
    if shape == "facts":
        return max(facts(look, look.left, y, found), buyer(look, half + 20, y))
    below = buyer(look, look.left, y)
    if look.chance(0.4):
        below = max(below, shipping(look, half, y))
    return (
        across(look, below + 8, found)
        if shape == "band"
        else facts(look, look.left, below + 8, found)
    )
