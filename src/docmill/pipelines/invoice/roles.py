"""What the label of an amount says the amount is: net, tax, gross, due, paid ..."""

import re
from functools import lru_cache
from typing import Final

from docmill.reading.dates import folded

Role = str

_TAX: Final = re.compile(
    r"\b(?:vat|tax(?:es)?|mwst|ust|tva|taxes?|ppn(?:bm)?|gst|iva|[cis]gst|pajak|impuestos?|hst|pst"
    r"|p\.p\.n|t\.v\.a|i\.v\.a|m\.w\.st"
    r"|\w*steuer(?:betrag|n)?|mehrwertst|btw\w*|imposta|imposto|moms)\b"
)
_TAX_OF_BASE: Final = re.compile(
    r"\s*(?:ppn|p\.p\.n|vat|tva|iva|mwst|ust|tax|gst)\b[^a-z]*%|.*% ?x ?dpp"
)
_EXCL: Final = re.compile(
    r"\b(?:excl\w*|ex|before|pre|ohne|zzgl|zuz|zuzugl\w*|hors|sin|sebelum|belum|without|vor|plus"
    r"|exkl|exclusief|esclusa|h\.?t)\b"
)
_INCL: Final = re.compile(
    r"\b(?:incl\w*|inkl\w*|einschl\w*|ttc|t\.t\.c|termasuk|setelah|after|inclusief|inclusa"
    r"|compris\w*|compresa|mit|enthalten\w*|with|con)\b"
)
_UNTAXED: Final = re.compile(r"\b(?:hors|before|excl\w*|exkl|ohne|without|sebelum|sin)\W{1,2}$")
_NET: Final = re.compile(
    r"\b(?:net|netto(?!preis)\w*|sub ?-?total|zwischensumme|positionssumme|warenwert|sous[- ]total"
    r"|h\.?t|base|gesamtnetto|summe positionen|\w*netto|jumlah harga jual|harga jual|nettosumme"
    r"|neto|subtotaal|imponibile|subtotale|grondslag|exclusief)\b"
)
_SUB: Final = re.compile(
    r"\b(?:sub ?-?total|zwischensumme|sous[- ]total|positionssumme|warenwert|subtotaal)\b"
)
_GROSS: Final = re.compile(
    r"\b(?:brutto(?!preis)\w*|gross(?! price)|grand|ttc|end(?:betrag|summe)|invoice total"
    r"|total invoice|rechnungs(?:betrag|summe)|gesamt(?:betrag|summe)|total tagihan|jumlah tagihan"
    r"|gesamtbrutto|total amount|total bayar)\b"
)
_SUM: Final = re.compile(
    r"\b(?:totaux|totale?s?|gesamt\w*|sum|jumlah|montant|amount|importe|tagihan|\w*summe|\w*betrag"
    r"|zusammen|insgesamt|jml|sumas?|totaal|totale|bedrag|importo|factuurbedrag|valor)\b"
)
_OFF: Final = (
    r"discount|\w*rabatte?|diskon|remises?|potongan|nachlass|skonto|abschlage?n?|escompte"
    r"|descuento|disc|dto|korting|sconto|desconto|promotional credit"
)
_AFTER: Final = r"\b(?:after|nach|apres|tras|setelah|sesudah|despues|dopo|na)\b"
_NOT_PAID: Final = re.compile(
    r"\b(?:to be|harus|date|terms?|method|before|due|sisa|rest[ea]?|solde|saldo|balance"
    r"|pendiente|harga jual|penggantian)\b"
)
_ALL_CHARGES: Final = re.compile(r" ?(?:sub ?-?total|total|sum|jumlah)(?: of)?(?: all)? charges ?")
_KINDS: Final = (
    (
        "carried",
        re.compile(
            r"\b(?:carried|brought) (?:forward|over)|\b(?:dipindahkan|pindahan|ubertrag"
            r"|a reporter|suma y sigue|suma anterior|amount c f)\b|^ ?report\b"
            r"|\b(?:sub ?total|jumlah) (?:halaman|page)|\bpage (?:sub)?total\b"
            r"|\b(?:seitensumme|(?:zwischen)?summe seite)\b"
        ),
    ),
    (
        "other",
        re.compile(
            r"\b(?:steuer|ust|vat|tax|tva|gst|npwp|iva|btw)\W{0,3}(?:id|i\.?d|nr|no|number|nummer"
            r"|reg)\b|\b(?:tax invoice|faktur pajak)\b|\bn.? ?tva|\bnpwp\b|\bsteuer-?nr|ustid"
        ),
    ),
    (
        "other",
        re.compile(r"\b(?:terbilang|in wor(?:ds|ten)|page|seite|capital|kapital|weight|gewicht)\b"),
    ),
    (
        "withholding",
        re.compile(r"\b(?:pph|withholding|wht|retenue|retencion|irpf|quellensteuer)\b"),
    ),
    ("other_base", re.compile(r"nilai lain|(?:tax|dpp) other|other tax base|lain-lain|\b11 12\b")),
    (
        "base",
        re.compile(
            r"\b(?:dpp|taxable|tax base|dasar pengenaan|base (?:imponible|imposable|tva|ht)"
            r"|subject to tax|steuerbasis\w*|basisbetrag|bemessungsgrundlage|steuerbasisbetrag)\b"
            rf"|\b(?:net\w*|jumlah|total|sum\w*|amount)\b.*{_AFTER}.*\b(?:{_OFF})\b"
        ),
    ),
    (
        "paid",
        re.compile(
            r"\b(?:paid|received|anzahlung(?:en)?|acomptes?|deposit|uang muka|down ?payment"
            r"|prepa\w+|bezahlt|betaald|voldaan|pagato|deja paye|regle|pagado|anticipo|terbayar"
            r"|dibayar|payments?|pembayaran|dp|vorauszahlung(?:en)?|gezahlt"
            r"|abschlagszahlung(?:en)?|geleistete|paye|verse|pagos|a cuenta|sudah bayar)\b"
        ),
    ),
    (
        "due",
        re.compile(
            r"\b(?:due|balance|zahlbetrag|a payer|te betalen|openstaand|da pagare|outstanding|sisa"
            r"|kurang bayar|zahlbar|offen\w*|owing|owed|saldo|solde|harus dibayar|to be paid"
            r"|zu zahlen|a pagar|restbetrag|payable|to pay|zahlungsbetrag|\w*forderung|noch"
            r"|rest[ea]?|pendiente|a percibir)\b"
        ),
    ),
    (
        "charge",
        re.compile(
            r"\b(?:versand\w*|verzend\w*|spedizione|shipping|freight|porto|ongkir|ongkos\w*"
            r"|pengiriman|frais|fracht\w*|transport|delivery|zuschlage?n?|biaya|handling|charges?"
            r"|meterai|materai|port)\b"
        ),
    ),
    (
        "discount",
        re.compile(rf"\b(?:{_OFF})\b"),
    ),
    ("rounding", re.compile(r"\b(?:rounding|rundung\w*|pembulatan|arrondi|redondeo)\b")),
)


@lru_cache(maxsize=4096)
def role(label: str) -> tuple[Role, float]:
    """The role of an amount with this label and how well the words say so; none is ("", 0)."""
    text = re.sub(r"[^a-z0-9%.\- ]", " ", folded(label).replace("ß", "ss").replace("_", " "))
    text = re.sub(r"\s+", " ", text)
    for kind, pattern in _KINDS:
        if pattern.search(text) and not _overruled(kind, text):
            return kind, 0.9
    return _sums(text)


def _overruled(kind: str, text: str) -> bool:
    """`Total incl. freight`, `VAT on shipping`, `Amount before deposit` are not what they name."""
    if kind in {"charge", "discount"}:
        taxed = bool(_TAX.search(text)) and not text.lstrip().startswith(
            ("remise", "rabatt", "disc")
        )
        return (
            taxed
            or bool(_ALL_CHARGES.fullmatch(text))
            or bool(_INCL.search(text))
            or bool(re.search(r"\b(?:after|setelah|before)\b", text))
        )
    if kind in {"base", "other_base"}:
        return bool(_TAX_OF_BASE.match(text))
    if kind == "due":
        return "date" in text or "datum" in text
    if kind == "paid":
        return bool(_NOT_PAID.search(text))
    return False


def _sums(text: str) -> tuple[Role, float]:
    tax = _TAX.search(text)
    if tax:
        return _taxed(text, tax.start())
    if _GROSS.search(text) and not re.search(r"\b(?:net|netto|ht)\b", text):
        return "gross", 1.0
    if _NET.search(text):
        return "net", 0.8 if _SUB.search(text) else 1.0
    if _SUM.search(text):
        return "gross", 0.75
    return "", 0.0


def _taxed(text: str, at: int) -> tuple[Role, float]:
    """Labels that name the tax: the tax itself, or a sum with or without it."""
    if _UNTAXED.search(text[:at]):
        return "net", 0.9
    excluded, included = _EXCL.search(text), _INCL.search(text)
    net, total = _NET.search(text), _SUM.search(text) or _GROSS.search(text)
    if included and total and total.start() < included.start():
        return "gross", 1.0
    named = min((match.start() for match in (net, total) if match), default=len(text))
    if excluded and named <= excluded.start():
        return "net", 1.0
    if net and net.start() < at and not total:
        return "net", 0.8
    if re.search(r"\b(?:brutto(?!preis)\w*|gross|ttc)\b", text):
        return "gross", 0.8
    return "tax", 1.0
