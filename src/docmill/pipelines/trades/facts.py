"""What is not a number: the security, its kind, where it was traded, and with whom."""

import re
from collections.abc import Sequence
from typing import Final

from docmill.pipelines.trades import identifiers
from docmill.pipelines.trades.model import Value, read_from
from docmill.pipelines.trades.rows import Row, fold

CHECKED: Final = 0.99
UNCHECKED: Final = 0.55
_TICKER: Final = re.compile(
    r"\b(?:stock code|ticker(?: symbol)?|symbol|k(?:ü|ue)rzel|epic"
    r"|tidm)\b[\s:]*([A-Z][A-Z0-9.]{0,5})\b",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    r"^(?:wertpapier(?:bezeichnung)?|titel|fonds(?:name)?|security(?: name| description)?"
    r"|instrument|stock"
    r"|bezeichnung|titre|valeur|naam|titolo|valor|description|investment|fund)\b[\s:.]*",
    re.IGNORECASE,
)
_MIC: Final = re.compile(
    r"\((X[A-Z]{3})\)|^(X(?!XXX)[A-Z]{3})\b"
    r"|\b(XETRA|Xetra|Tradegate|Quotrix|gettex|NYSE|NASDAQ|LSE|Euronext \w+)\b"
)
_COMPANY: Final = re.compile(
    r"\b(?:bank\w*|broker\w*|securities|sparkasse|\w*kasse|capital|invest\w*|trading|banque"
    r"|banca|banco|depot\w*|GmbH|AG|plc|Ltd|Limited|Inc|S\.?A\.?)\b",
    re.IGNORECASE,
)
_NOISE: Final = re.compile(
    r"(?:\b(?:St(?:ü|ue|�)?ck|Stk|ST|Nominale?|WKN|ISIN|Valor|Kauf|Verkauf|Buy|Sell|Bought"
    r"|Sold|Koop|Acquisto)\b"
    r"|\(?\b[A-Z0-9]{6}\b\)?|[():/]|\d[\d.,']*\s*(?:EUR|USD|CHF|GBP|%)?)"
)
MOST_NAME: Final = 80
ASSETS: Final = (
    ("etf", re.compile(r"\b(?:etf|u ?etf|ucits|etfs|etc|etn)\b")),
    (
        "option",
        re.compile(r"\b(?:optionsschein\w*|call|put|warrant|knock out|turbo\w*|options?)\b"),
    ),
    ("certificate", re.compile(r"\b(?:zertifikat\w*|certificate|discountzert\w*|faktor\w*)\b")),
    (
        "bond",
        re.compile(
            r"\b(?:anleihe\w*|obligation\w*|bonds?|schuldverschr\w*|(?<!contract )notes?"
            r"|pfandbrief\w*|inhaber schuldv\w*|treasury|nennwert)\b"
        ),
    ),
    ("crypto", re.compile(r"\b(?:bitcoin|ethereum|krypto\w*|crypto\w*|btc|eth|xrp)\b")),
    (
        "fund",
        re.compile(
            r"\b(?:fonds?\w*|fund|funds|unit trust|sicav|opcvm|fcp|inhaber anteile"
            r"|anteile|anteil)\b"
        ),
    ),
    (
        "equity",
        re.compile(
            r"\b(?:aktien?|shares?|stock|namens? aktien|inhaber aktien|actions?|acciones"
            r"|equity|inc|corp|plc|registered shares|reg shs|azioni|aktie|aandelen|ag|se|nv"
            r"|sa)\b"
        ),
    ),
)
EXCHANGE: Final = re.compile(
    r"\b(?:handels(?:platz|ort)|ausf(?:u|ue)?hrungs(?:platz|ort)(?: art)?|ausf platz(?: art)?"
    r"|handels ausf(?:u|ue)?hrungsplatz|b(?:o|oe)?rsenplatz|abschlussort|b(?:o|oe)?rse|ort"
    r"|trading venue"
    r"|venue(?: of execution)?|execution venue|market ?place|exchange|market|stock exchange"
    r"|place of execution|lieu d exe?cution|march|place|uitvoeringsplaats|beurs"
    r"|sede di (?:negoziazione|esecuzione)|mercato|mercado|bolsa|handelsplads"
    r"|markedsplads)\b"
)


def isin(rows: Sequence[Row], near: int) -> Value | None:
    """The ISIN nearest to a row; one whose check figure fails only where no other is there."""
    found: list[tuple[float, Row, int, int, str]] = []
    for row in rows:
        found += [
            (_isin_worth(match[1]), row, match.start(1), match.end(1), match[1])
            for match in identifiers.ISIN.finditer(row.text)
        ]
        for match in identifiers.GROUPED.finditer(row.text):
            code = "".join(match.groups())
            if identifiers.is_isin(code) and match[0] != code:
                found.append((0.5, row, match.start(), match.end(), code))
        for match in identifiers.TORN.finditer(row.text):
            code = match[1].replace(" ", "")
            if " " in match[1].strip() and identifiers.is_isin(code):
                found.append((0.8, row, match.start(1), match.end(1), code))
    known = [item for item in found if item[0]]
    if not known:
        return None
    _, row, start, end, code = max(known, key=lambda item: (item[0], -abs(item[1].index - near)))
    sure = CHECKED if identifiers.is_isin(code) else UNCHECKED
    return read_from(row, start, end, code, sure)


def _isin_worth(code: str) -> float:
    if identifiers.is_isin(code):
        return 1.0
    return 0.3 if identifiers.looks_like_isin(code) else 0.0


def cusip(rows: Sequence[Row], known: Value | None, *, told: bool) -> Value | None:
    """A CUSIP that the paper calls one, or the one inside an American ISIN."""
    for row in rows if told else ():
        for match in identifiers.CUSIP.finditer(row.text):
            if identifiers.is_cusip(match[1]):
                return read_from(row, match.start(1), match.end(1), match[1], 0.97)
    inner = identifiers.cusip_of(known.value) if known else None
    if not (known and inner):
        return None
    return Value(inner, known.confidence, known.page, known.box, known.text)


def ticker(rows: Sequence[Row]) -> Value | None:
    for row in rows:
        match = _TICKER.search(row.text)
        if match and match[1].isupper():
            return read_from(row, match.start(1), match.end(1), match[1], 0.85)
    return None


def name(rows: Sequence[Row], code: Value | None) -> Value | None:
    """The security's name: behind its label, or the words beside its ISIN."""
    for row in rows:
        match = _NAMED.match(row.text)
        rest = row.text[match.end() :] if match else ""
        if match and sum(char.isalpha() for char in rest) > 4 and not _speaks_of_else(rest):
            cut = _trimmed(rest, code.value if code else "")
            return read_from(row, match.end(), len(row.text), cut, 0.8) if cut else None
    if code is None:
        return None
    at = next((i for i, r in enumerate(rows) if r.page == code.page and code.text in r.text), None)
    if at is None:
        return None
    for index in (at, at - 1):
        if index >= 0:
            cut = _trimmed(rows[index].text, code.text)
            if sum(char.isalpha() for char in cut) > 3:
                row = rows[index]
                return read_from(row, 0, len(row.text), cut, 0.6)
    return None


def _heading(text: str) -> bool:
    return bool(re.search(r"\b(?:ISIN|WKN|Kurs|Price|Betrag|Preis|Quantity|Menge|CUSIP)\b", text))


def _speaks_of_else(text: str) -> bool:
    """Headings of columns, and what securities cost, are no names."""
    return _heading(text) or bool(
        re.search(r"\b(?:charges?|fees?|geb(?:ü|ue)hr\w*)\b", text, re.IGNORECASE)
    )


def _trimmed(text: str, code: str) -> str:
    bare = _NOISE.sub(" ", text.replace(code, " ") if code else text)
    return " ".join(bare.split())[:MOST_NAME].strip(" ,.-")


def asset_class(rows: Sequence[Row], hint: str) -> Value | None:
    """What kind of security it is, by the words of its name first."""
    folded = fold(hint)
    for kind, pattern in ASSETS:
        if pattern.search(folded):
            return Value(kind, 0.8, text=hint)
    for row in rows:
        for kind, pattern in ASSETS[:-1]:
            match = pattern.search(row.plain)
            if match and row.wordy < 12:
                return Value(kind, 0.55, row.page, None, row.text[:60])
    return None


def exchange(rows: Sequence[Row]) -> Value | None:
    """The trading place: behind its label, or a name everybody knows."""
    for row in rows:
        match = EXCHANGE.match(row.plain)
        words = row.plain[match.end() :].split() if match else []
        if match and 0 < len(words) <= 8:
            skip = len(row.plain[: match.end()].split())
            shown = re.sub(r"\s*\(.*?\)|\s{2,}.*", "", " ".join(row.text.split()[skip:])).strip(
                " :"
            )
            if shown and not shown[0].isdigit() and not _heading(shown):
                return read_from(row, 0, len(row.text), shown[:60], 0.75)
    for row in rows:
        match = _MIC.search(row.text)
        if match:
            found = match[match.lastindex or 0]
            return read_from(row, match.start(), match.end(), found, 0.7)
    return None


def counterparty(rows: Sequence[Row]) -> Value | None:
    """Who sent the note: the first row that reads like a bank or broker, letterhead or foot."""
    for row in [*rows[:25], *reversed(rows[-12:])]:
        match = _COMPANY.search(row.text)
        if match and row.wordy <= 9 and not row.days:
            shown = re.split(r"[·•|*]|\s-\s|, \d|\d{5}|Postfach", row.text)[0].strip(" ,·•-")
            if 3 < len(shown) <= 60 and _COMPANY.search(shown):
                return read_from(row, 0, len(shown), shown, 0.6)
    return None
