"""Single notes that are hard: told in a sentence, without a word for the direction, by parts, in
two currencies, in per cent, and with what is held or bought before on the next page.

Families for `eval.broker_statements`, with their own words in eight languages.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from eval.broker_deals import CENT, Deal
from eval.broker_notes import Note, fees, head, listed, title_of, total, word_of

Drawing = Callable[[Note, Sequence[Deal]], Sequence[Deal]]
SENTENCES: Final = {
    "de": ("Wir haben am {day} für Sie {n} Stück {name} zu {p} {c} gekauft.",
           "Wir haben am {day} für Sie {n} Stück {name} zu {p} {c} verkauft."),
    "en": ("On {day} you bought {n} shares of {name} at {p} {c}.",
           "On {day} you sold {n} shares of {name} at {p} {c}."),
    "fr": ("Le {day} vous avez acheté {n} titres {name} au cours de {p} {c}.",
           "Le {day} vous avez vendu {n} titres {name} au cours de {p} {c}."),
    "it": ("Il {day} abbiamo acquistato per Suo conto {n} azioni {name} a {p} {c}.",
           "Il {day} abbiamo venduto per Suo conto {n} azioni {name} a {p} {c}."),
    "es": ("El {day} hemos comprado por su cuenta {n} acciones {name} a {p} {c}.",
           "El {day} hemos vendido por su cuenta {n} acciones {name} a {p} {c}."),
    "nl": ("Op {day} hebben wij voor u {n} stuks {name} gekocht tegen {p} {c}.",
           "Op {day} hebben wij voor u {n} stuks {name} verkocht tegen {p} {c}."),
    "pt": ("Em {day} comprámos por sua conta {n} ações {name} a {p} {c}.",
           "Em {day} vendemos por sua conta {n} ações {name} a {p} {c}."),
    "pl": ("W dniu {day} kupiono {n} akcji {name} po {p} {c}.",
           "W dniu {day} sprzedano {n} akcji {name} po {p} {c}."),
}  # fmt: skip
PLANS: Final = {
    "de": "Abrechnung Sparplan", "en": "Savings plan execution", "fr": "Plan d'investissement",
    "it": "Piano di accumulo", "es": "Plan de inversión", "nl": "Beleggingsplan",
    "pt": "Plano de investimento", "pl": "Plan inwestycyjny",
}  # fmt: skip
SETTLED: Final = {
    "de": ("Zu Ihren Lasten", "Zu Ihren Gunsten"),
    "en": ("Amount debited to your account", "Amount credited to your account"),
    "fr": ("Montant débité", "Montant crédité"),
    "it": ("Importo addebitato", "Importo accreditato"),
    "es": ("Importe adeudado", "Importe abonado"),
    "nl": ("Te betalen", "Te ontvangen"),
    "pt": ("Total a debitar", "Total a creditar"),
    "pl": ("Kwota obciazenia", "Kwota uznania"),
}
RATES: Final = {
    "de": "Devisenkurs", "en": "Exchange rate", "fr": "Cours de change", "it": "Tasso di cambio",
    "es": "Tipo de cambio", "nl": "Wisselkoers", "pt": "Taxa de câmbio", "pl": "Kurs wymiany",
}  # fmt: skip
NOMINALS: Final = {
    "de": ("Nominal", "Stückzinsen"), "en": ("Nominal", "Accrued interest"),
    "fr": ("Nominal", "Intérêts courus"), "it": ("Valore nominale", "Rateo"),
    "es": ("Nominal", "Cupón corrido"), "nl": ("Nominaal", "Opgelopen rente"),
    "pt": ("Valor nominal", "Juros corridos"), "pl": ("Nominal", "Odsetki naliczone"),
}  # fmt: skip
HELDS: Final = {
    "de": "Depotbestand", "en": "Portfolio summary", "fr": "Positions au", "it": "Portafoglio al",
    "es": "Cartera a", "nl": "Portefeuille per", "pt": "Carteira em", "pl": "Stan portfela",
}  # fmt: skip
PARTS: Final = {
    "de": "Gesamt", "en": "Total", "fr": "Total", "it": "Totale",
    "es": "Total", "nl": "Totaal", "pt": "Total", "pl": "Razem",
}  # fmt: skip
NOTES: Final = {
    "de": "Abrechnung", "en": "Advice", "fr": "Avis", "it": "Nota", "es": "Liquidación",
    "nl": "Nota", "pt": "Nota", "pl": "Potwierdzenie",
}  # fmt: skip


def _put(note: Note, rows: Sequence[tuple[str, str]], x: float = 260) -> None:
    for label, value in rows:
        note.line((50, label, "left"), (x, value, "left"))


def draw_sentence(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """One sentence tells it all but the sums."""
    deal = deals[0]
    head(note, NOTES[note.language])
    told = SENTENCES[note.language][deal.direction == "sell"].format(
        day=note.day(deal.day),
        n=note.number(deal.quantity),
        name=deal.name,
        p=note.number(deal.price),
        c=deal.currency,
    )
    note.line((50, told, "left"))
    note.line((50, f"ISIN {deal.isin}", "left"))
    amount = (note.say("notional"), note.money(deal.notional, deal.currency))
    _put(note, [amount, *fees(note, deal), total(note, deal)])
    return deals[:1]


def draw_plan(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A savings plan: its title is the only word for the direction."""
    deal = replace(deals[0], direction="buy")
    head(note, PLANS[note.language])
    rows = [
        (note.say("name"), deal.name), ("ISIN", deal.isin), (note.say("day"), note.day(deal.day)),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} {deal.currency}"),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
        (note.say("value"), note.day(deal.value)),
    ]  # fmt: skip
    _put(note, rows)
    return [deal]


def draw_debited(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """No word for the direction: only which way the money went."""
    deal = deals[0]
    head(note, NOTES[note.language])
    settled = SETTLED[note.language][deal.direction == "sell"]
    rows = [
        (note.say("name"), deal.name), ("ISIN", deal.isin), (note.say("day"), note.day(deal.day)),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} {deal.currency}"),
        (note.say("notional"), note.money(deal.notional, deal.currency)), *fees(note, deal),
        (settled, note.money(deal.settled, deal.currency)),
    ]  # fmt: skip
    _put(note, rows)
    return deals[:1]


def draw_filled(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """An order done in three parts at one price, and their sum."""
    first = replace(deals[0], quantity=Decimal(int(deals[0].quantity) + 30))
    parts = [Decimal(int(first.quantity) // 3)] * 2
    parts.append(first.quantity - sum(parts))
    head(note, title_of(note, first))
    note.line((50, f"{first.name}  ISIN {first.isin}", "left"))
    places = ((50.0, "left"), (250.0, "right"), (360.0, "right"), (520.0, "right"))
    names = [note.say("day"), note.say("quantity"), note.say("price"), note.say("notional")]
    rows = [names]
    for count in (*parts, first.quantity):
        amount = (count * first.price).quantize(CENT)
        label = note.day(first.day) if len(rows) < 4 else PARTS[note.language]
        rows.append(
            [
                label,
                note.number(count),
                note.number(first.price),
                note.money(amount, first.currency),
            ]
        )
    for row in rows:
        note.line(*((x, cell, to) for (x, to), cell in zip(places, row, strict=True)))
    _put(note, [*fees(note, first), total(note, first)])
    return [first]


def draw_rated(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """Traded in one currency, settled in another, with the rate between them."""
    deal = replace(deals[0], currency="USD", fees=())
    rate = Decimal(note.rng.randrange(10100, 13900)) / 10000
    euros = (deal.notional / rate).quantize(CENT)
    head(note, title_of(note, deal))
    rows = [
        (note.say("name"), deal.name), ("ISIN", deal.isin), (note.say("day"), note.day(deal.day)),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} USD"),
        (note.say("notional"), f"{note.number(deal.notional)} USD"),
        (f"{RATES[note.language]} EUR/USD", note.number(rate)),
        (note.say("total").format("Lasten"), f"{note.number(euros)} EUR"),
        (note.say("value"), note.day(deal.value)),
    ]  # fmt: skip
    _put(note, rows)
    return [replace(deal, currency="EUR", paid=euros)]


def draw_bond(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A bond: nominal, price in per cent, accrued interest."""
    nominal = Decimal(note.rng.randrange(1, 60) * 1000)
    price = Decimal(note.rng.randrange(8000, 11500)) / 100
    paid = (nominal * price / 100).quantize(CENT)
    deal = replace(deals[0], quantity=nominal, price=price, paid=paid, fees=())
    label, accrued = NOMINALS[note.language]
    head(note, title_of(note, deal))
    rows = [
        (note.say("name"), "3,25 % Republik Anleihe 2031"), ("ISIN", deal.isin),
        (note.say("day"), note.day(deal.day)),
        (label, f"{deal.currency} {note.number(nominal)}"),
        (note.say("price"), f"{note.number(price)} %"),
        (note.say("notional"), note.money(paid, deal.currency)),
        (accrued, note.money(Decimal(note.rng.randrange(100, 9000)) / 100, deal.currency)),
        (note.say("value"), note.day(deal.value)),
    ]  # fmt: skip
    _put(note, rows)
    return [deal]


def draw_with_holdings(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A note, and below it what is held now."""
    listed(note, deals[0])
    note.y += 20
    note.line((50, f"{HELDS[note.language]} {note.day(deals[0].value)}", "left"))
    for deal in deals[1:4]:
        worth = note.money(deal.notional, deal.currency)
        note.line(
            (50, deal.name, "left"), (250, deal.isin, "left"),
            (400, note.number(deal.quantity), "right"), (460, note.number(deal.price), "right"),
            (560, worth, "right"),
        )  # fmt: skip
    return deals[:1]


def draw_dated(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """Printed days after the trade; order, trade, booking and value date all stand there."""
    deal = deals[0]
    note.line((400, f"{note.say('date')} {note.day(deal.day + timedelta(days=9))}", "left"))
    head(note, title_of(note, deal))
    note.line(
        (50, note.say("side"), "left"), (160, word_of(note, deal), "left"),
        (320, note.say("value"), "left"), (450, note.day(deal.value), "left"),
    )  # fmt: skip
    note.line(
        (50, "ISIN", "left"), (160, deal.isin, "left"),
        (320, note.say("day"), "left"), (450, note.day(deal.day), "left"),
    )  # fmt: skip
    rows = [
        (note.say("name"), deal.name),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} {deal.currency}"),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
    ]
    _put(note, rows)
    return deals[:1]


SINGLES_TUNED: Final[dict[str, tuple[str, Drawing]]] = {
    "sentence": ("single", draw_sentence),
    "filled": ("single", draw_filled),
    "rated": ("single", draw_rated),
    "plan": ("single", draw_plan),
}
SINGLES_HELD: Final[dict[str, tuple[str, Drawing]]] = {
    "debited": ("single", draw_debited),
    "bond": ("single", draw_bond),
    "with holdings": ("single", draw_with_holdings),
    "dated": ("single", draw_dated),
}
