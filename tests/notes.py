"""Broker notes for tests, drawn as their senders would: `from notes import GERMAN, note`."""

from collections.abc import Sequence

from pdfs import make_pdf

ROW = 14.0


def note(*lines: str) -> bytes:
    """A PDF of these lines; two spaces or more set words into columns of a fixed pitch."""
    texts = [
        (50 + 5.2 * at, 60 + ROW * index, word)
        for index, line in enumerate(lines)
        for at, word in _words(line)
    ]
    return make_pdf([texts])


def _words(line: str) -> Sequence[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    at = 0
    for part in line.split("  "):
        text = part.strip()
        if text:
            found.append((at + len(part) - len(part.lstrip()), text))
        at += len(part) + 2
    return found


GERMAN = (
    "Nordbank AG, 20095 Hamburg",
    "Wertpapierabrechnung: Kauf",
    "Schlusstag: 04.03.2024 09:12:33",
    "Wertpapier: SIEMENS AG NAMENS-AKTIEN O.N.",
    "ISIN: DE0007236101",
    "Handelsplatz: XETRA",
    "Stück 25",
    "Kurs 172,40 EUR",
    "Kurswert 4.310,00 EUR",
    "Provision 9,90 EUR",
    "Ausmachender Betrag 4.319,90 EUR",
    "Valuta 06.03.2024",
)
ENGLISH = (
    "Harbour Securities Ltd",
    "Contract note",
    "We have sold on your instructions",
    "Security: Apple Inc. Common Stock",
    "ISIN: US0378331005  Ticker: AAPL",
    "Trade date: 12 March 2024",
    "Settlement date: 14 March 2024",
    "Quantity: 1,200 shares",
    "Price: USD 171.13",
    "Gross amount: USD 205,356.00",
    "Commission: USD 25.00",
    "Net amount: USD 205,331.00",
)
DIVIDEND = (
    "Nordbank AG, 20095 Hamburg",
    "Dividendengutschrift",
    "ISIN: DE0007236101",
    "Stück 25",
    "Dividende pro Stück 4,70 EUR",
    "Bruttobetrag 117,50 EUR",
    "Zahlbar 15.02.2024",
)
CANCELLED = ("Nordbank AG", "Storno der Wertpapierabrechnung", *GERMAN[1:])
ORDER = ("Nordbank AG", "Auftragsbestätigung", "Kauf", *GERMAN[3:8])
TABLE = (
    "Harbour Securities Ltd",
    "Transactions confirmed on 15 March 2024",
    "Trade date   Action   ISIN            Quantity    Price     Amount",
    "12/03/2024   Buy      US0378331005    100         171.10    17,110.00",
    "13/03/2024   Sell     US5949181045    40          412.50    16,500.00",
    "14/03/2024   Buy      IE00B4L5Y983    12.5        88.40     1,105.00",
)
