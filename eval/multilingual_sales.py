"""Made-up sales for `eval.multilingual`: firms of every form, several tax rates, odd lines."""

import tomllib
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Final

from eval.indonesian_sales import rounded

WORDS: Final = tomllib.loads(Path(__file__).with_name("multilingual.toml").read_text())
RATES: Final = {
    "id": [["11"], ["11"], ["12"], ["12"], []],
    "en": [["20"], ["10"], ["5", "20"], [], ["9"]],
    "de": [["19"], ["19"], ["7", "19"], ["7"], []],
    "fr": [["20"], ["20"], ["5.5", "20"], ["10"]],
    "es": [["21"], ["21"], ["10", "21"], ["4"]],
}


@dataclass
class Firm:
    name: str
    street: str
    town: str
    tax_id: str
    phone: str
    person: str


@dataclass
class Item:
    text: str
    details: list[str]
    code: str
    quantity: Decimal | None
    unit: str
    price: Decimal | None
    percent: int
    amount: Decimal
    rate: str


@dataclass
class Sale:
    lang: str
    seller: Firm
    buyer: Firm
    number: str
    issued: date
    due: date | None
    currency: str
    places: int
    items: list[Item]
    off: Decimal = Decimal(0)
    net: Decimal = Decimal(0)
    taxes: list[tuple[str, Decimal, Decimal]] = field(default_factory=list)  # rate, base, tax
    tax: Decimal = Decimal(0)
    gross: Decimal = Decimal(0)
    withheld: Decimal = Decimal(0)
    paid: Decimal = Decimal(0)


def firm(rng: Random, lang: str) -> Firm:
    a, b = rng.sample(WORDS["seeds"][lang], 2)
    name = rng.choice(WORDS["firms"][lang]).format(a=a, b=b, A=a.upper(), B=b.upper())
    street = rng.choice(WORDS["streets"][lang]).format(rng.randrange(1, 200))
    digits = "".join(str(rng.randrange(10)) for _ in range(16))
    npwp = f"{digits[:2]}.{digits[2:5]}.{digits[5:8]}.{digits[8]}-{digits[9:12]}.{digits[12:15]}"
    tax_id = {
        "id": rng.choice([npwp, digits]),
        "en": f"GB {digits[:9]}",
        "de": f"DE{digits[:9]}",
        "fr": f"FR{digits[:11]}",
        "es": f"B{digits[:8]}",
    }[lang]
    phone = rng.choice(["+62 21 555 {}", "(021) 7{}88", "030 / 44{}", "01 44 {} 12"])
    person = rng.choice(WORDS["people"][lang])
    town = rng.choice(WORDS["towns"][lang])
    return Firm(name, street, town, tax_id, phone.format(rng.randrange(1000, 9999)), person)


def item(rng: Random, sale: Sale, rate: str) -> Item:
    lang, idr = sale.lang, sale.currency == "IDR"
    price = Decimal(rng.randrange(1, 4000)) * (rng.choice([125, 500, 1000, 25000]) if idr else 1)
    price = rounded(price / (1 if idr else rng.choice([1, 10, 100])), sale.places) or Decimal(1)
    quantity = Decimal(rng.choice([1, 1, 1, 2, 3, 4, 6, 10, 20, 50, 250, 1200]))
    if rng.random() < 0.12:
        quantity = Decimal(rng.randrange(5, 400)) / 4
    percent = rng.choice([0, 0, 0, 0, 0, 10, 25])
    amount = rounded(quantity * price * (100 - percent) / 100, sale.places)
    details = rng.sample(WORDS["details"][lang], rng.choice([0, 0, 0, 0, 1, 2]))
    code = rng.choice([f"{rng.randrange(1000, 99999)}", f"AB-{rng.randrange(10, 99)}", "X12.400"])
    unit = rng.choice(WORDS["units"][lang])
    text = rng.choice(WORDS["goods"][lang])
    return Item(text, details, code, quantity, unit, price, percent, amount, rate)


def items(rng: Random, sale: Sale, rates: list[str]) -> list[Item]:
    """Lines, among them now and then one that repeats, one without quantity, one below zero."""
    count = rng.choice([1, 1, 2, 3, 4, 5, 7, 10, 15, rng.randrange(16, 70)])
    made = [item(rng, sale, rng.choice(rates or [""])) for _ in range(count)]
    if count > 2 and rng.random() < 0.15:
        made[-1] = made[0]
    if rng.random() < 0.15:
        flat = rounded(Decimal(rng.randrange(5, 90)) * (5000 if sale.currency == "IDR" else 1), 0)
        text = rng.choice(WORDS["goods"][sale.lang])
        made[-1] = Item(text, [], "", None, "", None, 0, flat, made[-1].rate)
    if count > 3 and rng.random() < 0.07:
        back = made[1]
        price = -(back.price or back.amount)
        made[2] = Item(back.text, [], back.code, Decimal(1), back.unit, price, 0, price, back.rate)
    return made


def number(rng: Random, day: date) -> str:
    serial = rng.randrange(1, 99999)
    roman = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"][
        day.month - 1
    ]
    shapes = [
        f"{serial}", f"{day:%Y}-{serial:05}", f"RE-{day:%Y%m%d}/{serial % 1000:03}",
        f"{serial % 1000:03}/{rng.choice(['KWT-JKT', 'INV-AB', 'FIN-AB'])}/{roman}/{day:%Y}",
        f"F{day:%Y}{serial:04}", f"{day:%y}/{serial:05}", f"INV{serial:06}", f"A-{serial}",
        f"{day:%Y}.{day:%m}.{serial % 1000:03}", f"FAC {day:%Y} {serial % 1000}", f"R{serial:07}",
        f"{serial % 1000:03}.{rng.randrange(100, 999)}-{day:%y}.{serial:08}", f"#{serial}",
    ]  # fmt: skip
    return rng.choice(shapes)


def sale(rng: Random) -> Sale:
    """One sale whose sums are right to the last cent."""
    lang = rng.choice(["id"] * 9 + ["en"] * 4 + ["de"] * 4 + ["fr"] * 3 + ["es"] * 2)
    money = {"id": "IDR", "en": rng.choice(["USD", "GBP", "SGD", "EUR"])}.get(lang, "EUR")
    issued = date(2021, 1, 1) + timedelta(days=rng.randrange(2000))
    due = (
        issued + timedelta(days=rng.choice([7, 10, 14, 30, 45, 60])) if rng.random() < 0.6 else None
    )
    places = rng.choice([0, 0, 2]) if money == "IDR" else 2
    seller, buyer = firm(rng, lang), firm(rng, lang)
    while buyer.name == seller.name:
        buyer = firm(rng, lang)
    made = Sale(lang, seller, buyer, number(rng, issued), issued, due, money, places, [])
    rates = rng.choice(RATES[lang])
    made.items = items(rng, made, rates)
    while sum(line.amount for line in made.items) <= 0:
        made.items = items(rng, made, rates)
    _sum_up(rng, made)
    return made


def _sum_up(rng: Random, made: Sale) -> None:
    total = sum((line.amount for line in made.items), Decimal(0))
    rates = sorted({line.rate for line in made.items} - {""})
    if len(rates) < 2 and rng.random() < 0.15:
        made.off = rounded(total * rng.choice([3, 5, 10]) / 100, made.places)
    made.net = total - made.off
    for rate in rates:
        base = sum((line.amount for line in made.items if line.rate == rate), Decimal(0)) - made.off
        effective = Decimal(11) if rate == "12" else Decimal(rate)
        made.taxes.append((rate, base, rounded(base * effective / 100, made.places)))
    made.tax = sum((tax for *_, tax in made.taxes), Decimal(0))
    made.gross = made.net + made.tax
    if made.lang == "id" and rng.random() < 0.2:
        made.withheld = rounded(made.net * 2 / 100, made.places)
    if rng.random() < 0.2:
        left = made.gross - made.withheld
        made.paid = rng.choice(
            [left, rounded(left * 3 / 10, made.places), rounded(left / 2, made.places)]
        )
