"""Notes on which a trade does not stand alone: its order above it, its parts, its copy, what was
bought before, what it costs, how it was booked; and notes that tell its direction by a code, a
column or a sign only, or have their labels above the values.

Families for `eval.broker_statements`, with their own words in eight languages.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from eval.broker_deals import CENT, WORDS, Deal
from eval.broker_notes import Note, fees, head, listed, tabled, title_of, total, word_of

Drawing = Callable[[Note, Sequence[Deal]], Sequence[Deal]]
ORDERS: Final = {
    "de": ("Ihr Auftrag", "Limit", "Auftrag erteilt am"),
    "en": ("Your order", "Limit price", "Order placed"),
    "fr": ("Votre ordre", "Cours limite", "Ordre saisi le"),
    "it": ("Il Suo ordine", "Prezzo limite", "Ordine inserito il"),
    "es": ("Su orden", "Precio límite", "Orden recibida el"),
    "nl": ("Uw order", "Limietkoers", "Order ingelegd op"),
    "pt": ("A sua ordem", "Preço limite", "Ordem recebida em"),
    "pl": ("Twoje zlecenie", "Limit ceny", "Zlecenie zlozone"),
}
COSTS: Final = {
    "de": ("Kosten beim Kauf", "Kosten während der Haltedauer", "Kosten beim Verkauf"),
    "en": ("Costs of the purchase", "Costs while holding", "Costs of the sale"),
    "fr": ("Coûts à l'achat", "Coûts de détention", "Coûts à la vente"),
    "it": ("Costi di acquisto", "Costi di detenzione", "Costi di vendita"),
    "es": ("Costes de compra", "Costes de mantenimiento", "Costes de venta"),
    "nl": ("Kosten bij aankoop", "Kosten tijdens bezit", "Kosten bij verkoop"),
    "pt": ("Custos na compra", "Custos de detenção", "Custos na venda"),
    "pl": ("Koszty zakupu", "Koszty utrzymania", "Koszty sprzedazy"),
}
BOOKED: Final = {
    "de": "Buchungsinformation", "en": "Booking", "fr": "Comptabilisation", "it": "Registrazione",
    "es": "Anotación en cuenta", "nl": "Boeking", "pt": "Lançamento em conta", "pl": "Ksiegowanie",
}  # fmt: skip
EXCHANGED: Final = {
    "de": "Devisengeschäft", "en": "Foreign exchange", "fr": "Opération de change",
    "it": "Operazione di cambio", "es": "Operación de divisas", "nl": "Valutatransactie",
    "pt": "Operação cambial", "pl": "Transakcja walutowa",
}  # fmt: skip
SIDES: Final = {
    "de": ("K/V", "K", "V"), "en": ("B/S", "B", "S"), "fr": ("A/V", "A", "V"),
    "it": ("A/V", "A", "V"), "es": ("C/V", "C", "V"), "nl": ("K/V", "K", "V"),
    "pt": ("C/V", "C", "V"), "pl": ("K/S", "K", "S"),
}  # fmt: skip
DEBITS: Final = {
    "de": ("Soll", "Haben"), "en": ("Debit", "Credit"), "fr": ("Débit", "Crédit"),
    "it": ("Dare", "Avere"), "es": ("Debe", "Haber"), "nl": ("Debet", "Credit"),
    "pt": ("Débito", "Crédito"), "pl": ("Obciazenie", "Uznanie"),
}  # fmt: skip
SWITCHES: Final = {
    "de": ("Fondsumschichtung", "Verkauf", "Kauf"),
    "en": ("Fund switch", "Switch out", "Switch in"),
    "fr": ("Arbitrage", "Arbitrage sortant", "Arbitrage entrant"),
    "it": ("Switch", "Rimborso", "Sottoscrizione"), "es": ("Traspaso", "Reembolso", "Suscripción"),
    "nl": ("Omzetting", "Verkoop", "Aankoop"), "pt": ("Transferência", "Resgate", "Subscrição"),
    "pl": ("Konwersja", "Odkupienie", "Nabycie"),
}  # fmt: skip
FEE_SALES: Final = {
    "de": "Verkauf wegen Depotentgelt", "en": "Sale to cover fees",
    "fr": "Vente pour frais de gestion", "it": "Rimborso per spese di gestione",
    "es": "Reembolso por gastos", "nl": "Verkoop wegens kosten", "pt": "Resgate por despesas",
    "pl": "Umorzenie na poczet oplat",
}  # fmt: skip
MARKS: Final = {
    "de": "Ausführungen", "en": "Fills", "fr": "Exécutions", "it": "Esecuzioni",
    "es": "Ejecuciones", "nl": "Uitvoeringen", "pt": "Execuções", "pl": "Realizacje",
}  # fmt: skip


def _put(note: Note, rows: Sequence[tuple[str, str]], x: float = 260) -> None:
    for label, value in rows:
        note.line((50, label, "left"), (x, value, "left"))


def _facts(note: Note, deal: Deal) -> list[tuple[str, str]]:
    return [
        (note.say("name"), deal.name), ("ISIN", deal.isin), (note.say("day"), note.day(deal.day)),
        (note.say("quantity"), note.number(deal.quantity)),
        (note.say("price"), f"{note.number(deal.price)} {deal.currency}"),
        (note.say("notional"), note.money(deal.notional, deal.currency)),
        *fees(note, deal), total(note, deal), (note.say("value"), note.day(deal.value)),
    ]  # fmt: skip


def draw_ordered(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """What was ordered, with a limit, and below it what was done."""
    deal = deals[0]
    order, limit, placed = ORDERS[note.language]
    head(note, note.broker)
    rows = [
        (order, word_of(note, deal)), (placed, note.day(deal.day - timedelta(days=3))),
        (note.say("quantity"), note.number(deal.quantity)),
        (limit, f"{note.number(deal.price + 1)} {deal.currency}"),
    ]  # fmt: skip
    _put(note, rows)
    note.y += 14
    note.line((50, title_of(note, deal), "left"))
    _put(note, _facts(note, deal))
    return deals[:1]


def draw_copied(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """The note twice: for the customer and for somebody else."""
    state = note.rng.getstate()
    tabled(note, deals[0])
    note.canvas.turn()
    note.y = 60.0
    note.rng.setstate(state)
    tabled(note, deals[0])
    return deals[:1]


def draw_fills(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """The whole first, and then its parts, each at its own price and time."""
    count = Decimal(int(deals[0].quantity) + 30)
    parts = [count // 4, count // 3]
    parts.append(count - sum(parts))
    prices = [deals[0].price + Decimal(at) / 50 for at in range(3)]
    paid = sum((n * p for n, p in zip(parts, prices, strict=True)), Decimal(0)).quantize(CENT)
    mean = (paid / count).quantize(Decimal("0.0001"))
    deal = replace(deals[0], quantity=count, price=mean, paid=paid, fees=())
    head(note, title_of(note, deal))
    _put(note, _facts(note, deal))
    note.y += 10
    note.line((50, MARKS[note.language], "left"))
    for at, (some, price) in enumerate(zip(parts, prices, strict=True)):
        note.line(
            (50, f"{note.day(deal.day)} 10:{20 + at}:07", "left"),
            (260, note.number(some), "right"), (350, note.number(price), "right"),
            (460, note.money(some * price, deal.currency), "right"),
        )  # fmt: skip
    return [deal]


def draw_booked(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A note, and how its sum was booked."""
    deal = deals[0]
    listed(note, deal)
    note.y += 16
    note.line((50, BOOKED[note.language], "left"))
    sign = "-" if deal.direction == "buy" else ""
    note.line(
        (50, note.day(deal.value), "left"), (140, f"{word_of(note, deal)} {deal.name}", "left"),
        (540, f"{sign}{note.number(deal.settled)} {deal.currency}", "right"),
    )  # fmt: skip
    return deals[:1]


def draw_fee_sale(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A few hundredths of a unit sold to pay a fee."""
    small = Decimal(note.rng.randrange(10, 900)) / 1000
    deal = replace(deals[0], direction="sell", quantity=small, fees=())
    head(note, FEE_SALES[note.language])
    _put(note, _facts(note, deal))
    return [deal]


def draw_worded_lots(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A sale, and the purchases it uses up, told with words and days of their own."""
    deal = replace(deals[0], direction="sell")
    listed(note, deal)
    note.y += 16
    note.line((50, note.say("lots"), "left"))
    names = [note.say("day"), note.say("quantity"), note.say("price"), note.say("notional")]
    note.line(*((x, name, "left") for x, name in zip((130, 230, 320, 420), names, strict=True)))
    for other in deals[1:4]:
        note.line(
            (50, WORDS[note.language]["word"][0], "left"), (130, note.day(other.day), "left"),
            (230, note.number(other.quantity), "left"), (320, note.number(other.price), "left"),
            (420, note.money(other.notional, deal.currency), "left"),
        )  # fmt: skip
    return [deal]


def draw_cost_table(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A note, and what such a deal costs when it is opened, held and closed."""
    deal = deals[0]
    tabled(note, deal)
    note.y += 16
    note.line((50, note.say("costs"), "left"))
    for label in COSTS[note.language]:
        cost = Decimal(note.rng.randrange(100, 9000)) / 100
        share = (100 * cost / deal.notional).quantize(CENT)
        note.line(
            (50, label, "left"), (350, note.money(cost, deal.currency), "right"),
            (460, f"{note.number(share)} %", "right"),
        )  # fmt: skip
    return deals[:1]


def draw_exchanged(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """A note in dollars, and the exchange that paid for it."""
    deal = replace(deals[0], currency="USD", fees=())
    rate = Decimal(note.rng.randrange(10100, 13900)) / 10000
    euros = (deal.notional / rate).quantize(CENT)
    listed(note, deal)
    note.y += 16
    note.line((50, EXCHANGED[note.language], "left"))
    word = WORDS[note.language]["word"][deal.direction == "sell"]
    rows = [
        (f"{word} USD", note.number(deal.notional)), ("EUR/USD", note.number(rate)),
        ("EUR", note.number(euros)),
    ]  # fmt: skip
    _put(note, rows)
    return [replace(deal, currency="EUR", paid=euros)]


def draw_code(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """One letter behind a label tells the direction."""
    deal = deals[0]
    label, buy, sell = SIDES[note.language]
    head(note, note.broker)
    _put(note, [(label, buy if deal.direction == "buy" else sell), *_facts(note, deal)])
    return deals[:1]


def draw_columns(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """The sum stands in the column of what is paid or of what is received."""
    deal = replace(deals[0], fees=())
    head(note, note.broker)
    _put(note, _facts(note, deal)[:6])
    note.y += 12
    debit, credit = DEBITS[note.language]
    note.line((50, deal.currency, "left"), (400, debit, "right"), (520, credit, "right"))
    x = 400 if deal.direction == "buy" else 520
    note.line((50, note.day(deal.value), "left"), (x, note.number(deal.notional), "right"))
    return [deal]


def draw_switch(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """One fund given for another: two trades in one letter."""
    title, out, into = SWITCHES[note.language]
    pair = [
        replace(deals[0], direction="sell", fees=()),
        replace(deals[1], direction="buy", fees=(), day=deals[0].day, currency=deals[0].currency),
    ]
    head(note, title)
    for deal, word in zip(pair, (out, into), strict=True):
        note.line((50, word, "left"))
        _put(note, _facts(note, deal))
        note.y += 12
    return pair


def _draw_cards(note: Note, cards: Sequence[tuple[str, str]], columns: int) -> None:
    """Labels in one row, values in the next."""
    for at in range(0, len(cards), columns):
        some = cards[at : at + columns]
        places = [50 + 500 * index / columns for index in range(len(some))]
        note.line(*((x, label, "left") for x, (label, _) in zip(places, some, strict=True)))
        note.line(*((x, value, "left") for x, (_, value) in zip(places, some, strict=True)))
        note.y += 8


def draw_stacked(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """Each label above its value, one below the other."""
    head(note, title_of(note, deals[0]))
    _draw_cards(note, _facts(note, deals[0]), 1)
    return deals[:1]


def draw_cards(note: Note, deals: Sequence[Deal]) -> Sequence[Deal]:
    """Labels above their values, three side by side; the direction is one of the values."""
    deal = replace(deals[0], fees=deals[0].fees[:1])
    head(note, note.broker)
    _draw_cards(note, [(note.say("side"), word_of(note, deal)), *_facts(note, deal)], 3)
    return [deal]


CROWDED_TUNED: Final[dict[str, tuple[str, Drawing]]] = {
    "ordered": ("single", draw_ordered),
    "copied": ("single", draw_copied),
    "fills": ("single", draw_fills),
    "booked": ("single", draw_booked),
    "fee sale": ("single", draw_fee_sale),
    "stacked": ("single", draw_stacked),
    "code": ("single", draw_code),
    "columns": ("single", draw_columns),
    "exchanged": ("single", draw_exchanged),
    "worded lots": ("single", draw_worded_lots),
}
CROWDED_HELD: Final[dict[str, tuple[str, Drawing]]] = {
    "cost table": ("single", draw_cost_table),
    "switch": ("multi", draw_switch),
    "cards": ("single", draw_cards),
}
