"""Deals of `eval.broker_notes`, and the words brokers have for them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from eval.broker_words import MORE

CENT: Final = Decimal("0.01")
SECURITIES: Final = (
    ("DE0007164600", "SAP SE", "Inhaber-Aktien o.N."),
    ("US5949181045", "Microsoft Corp.", "Registered Shares"),
    ("IE00B4L5Y983", "iShares Core MSCI World UCITS ETF", "USD (Acc)"),
    ("LU0392494562", "Comstage MSCI World", "UCITS ETF I"),
    ("FR0000120271", "TotalEnergies SE", "Actions au Porteur"),
    ("GB00B10RZP78", "Unilever PLC", "Registered Shares LS -,031111"),
    ("CH0038863350", "Nestle S.A.", "Namens-Aktien SF -,10"),
)
BROKERS: Final = (
    "Hanse Wertpapierbank AG",
    "Alpenkontor Privatbank",
    "Northgate Brokers Ltd",
    "Meridian Securities LLC",
    "Rheinische Depotbank eG",
    "Kestrel Capital Markets plc",
)
WORDS: Final[dict[str, dict[str, Sequence[str]]]] = {
    **MORE,
    "de": {
        "buy": (
            "Wertpapierabrechnung - Kauf",
            "Abrechnung über den Kauf von Wertpapieren",
            "Börsenabrechnung Kauf",
        ),
        "sell": (
            "Wertpapierabrechnung - Verkauf",
            "Abrechnung über den Verkauf von Wertpapieren",
            "Börsenabrechnung Verkauf",
        ),
        "quantity": ("Stück", "Anzahl", "Menge", "Nominal/Stück", "Stückzahl"),
        "price": ("Kurs", "Ausführungskurs", "Preis", "Kurs je Stück"),
        "notional": ("Kurswert", "Bruttobetrag", "Gegenwert"),
        "fee": ("Provision", "Orderentgelt", "Handelsplatzgebühr", "Fremde Spesen"),
        "total": ("Ausmachender Betrag", "Endbetrag", "Zu Ihren {}", "Abrechnungsbetrag"),
        "day": ("Schlusstag", "Handelstag", "Ausführungstag", "Handelsdatum"),
        "value": ("Valuta", "Wertstellung"),
        "name": ("Wertpapier", "Bezeichnung", "Titel"),
        "venue": ("Handelsplatz", "Börse", "Ausführungsplatz"),
        "side": ("Geschäftsart", "Transaktion"),
        "none": (
            "Dividendengutschrift",
            "Ertragsausschüttung Investmentfonds",
            "Depotauszug",
            "Auftragsbestätigung",
            "Stornierung einer Abrechnung",
        ),
        "word": ("Kauf", "Verkauf"),
        "costs": ("Kosteninformation vor dem Kauf",),
        "lots": ("Steuerliche Informationen",),
        "date": ("Datum",),
        "foot": ("Dieser Beleg wird nicht unterschrieben. Bitte prüfen Sie die Abrechnung.",),
    },
    "en": {
        "buy": (
            "Contract Note - Purchase",
            "Trade Confirmation: BUY",
            "We have bought for your account",
        ),
        "sell": (
            "Contract Note - Sale",
            "Trade Confirmation: SELL",
            "We have sold for your account",
        ),
        "quantity": ("Quantity", "No. of shares", "Units", "Shares"),
        "price": ("Price", "Unit price", "Execution price", "Price per share"),
        "notional": ("Consideration", "Gross amount", "Principal", "Trade value"),
        "fee": ("Commission", "Brokerage", "Exchange fee", "PTM levy"),
        "total": ("Net amount", "Total amount", "Amount due", "Settlement amount"),
        "day": ("Trade date", "Date of transaction", "Deal date", "Execution date"),
        "value": ("Settlement date", "Value date"),
        "name": ("Security", "Instrument", "Description"),
        "venue": ("Venue", "Market", "Place of execution"),
        "side": ("Action", "Transaction type"),
        "none": (
            "Dividend advice",
            "Cash distribution notice",
            "Account statement",
            "Order confirmation",
            "Cancellation of a trade",
        ),
        "word": ("Buy", "Sell"),
        "costs": ("Costs and charges information",),
        "lots": ("Realised gains",),
        "date": ("Date",),
        "foot": ("Please check this document and report any difference at once.",),
    },
}


@dataclass(frozen=True, slots=True)
class Deal:
    direction: str
    isin: str
    name: str
    more: str
    day: date
    value: date
    quantity: Decimal
    price: Decimal
    fees: tuple[Decimal, ...]
    currency: str
    paid: Decimal | None = None  # the notional in the currency of the account, where it is another

    @property
    def notional(self) -> Decimal:
        if self.paid is not None:
            return self.paid
        return (self.quantity * self.price).quantize(CENT, ROUND_HALF_UP)

    @property
    def settled(self) -> Decimal:
        paid = sum(self.fees, Decimal(0))
        return self.notional + paid if self.direction == "buy" else self.notional - paid

    def truth(self) -> dict[str, Any]:
        return {
            "isin": self.isin,
            "direction": self.direction,
            "trade_date": self.day.isoformat(),
            "quantity": float(self.quantity),
            "currency": self.currency,
            "notional": float(self.notional),
            "settlement_amount": float(self.settled),
        }


def a_deal(rng: random.Random) -> Deal:
    isin, name, more = rng.choice(SECURITIES)
    day = date(2019, 1, 2) + timedelta(days=rng.randrange(2200))
    whole = rng.random() < 0.7
    quantity = (
        Decimal(rng.randrange(2, 3000)) if whole else Decimal(rng.randrange(1000, 900000)) / 10000
    )
    price = (
        Decimal(rng.randrange(300, 60000)) / 100
        if rng.random() < 0.6
        else Decimal(rng.randrange(30000, 6000000)) / 10000
    )
    fees = tuple(Decimal(rng.randrange(90, 3000)) / 100 for _ in range(rng.randrange(0, 4)))
    currency = rng.choice(("EUR", "EUR", "USD", "CHF", "GBP"))
    value = day + timedelta(days=2)
    return Deal(
        rng.choice(("buy", "sell")), isin, name, more, day, value, quantity, price, fees, currency
    )
