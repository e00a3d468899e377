"""What Indonesia's Coretax wants of an invoice; the facts are those of mapping pt_simon_invoice."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.invoices import values as invoices_values
from docmill.invoices.formats import values
from docmill.invoices.formats.scope import Function, LineFigures, MappingScope, read_figures
from docmill.invoices.profile import TRX_CODES, find_rate
from docmill.invoices.values import (
    HUNDRED,
    NOTHING,
    ONE,
    clean,
    format_plain,
    look_up,
    parse_iso_date,
    round_cents,
)

OTHER_BASE: Final = "04"
FULL_BASE: Final = "01"
WITH_FACILITY: Final = ("07", "08")
VAT_RATE: Final = Decimal(12)
RUPIAH: Final = ("IDR", "RP", "RUPIAH")


def choose_trx_code(scope: MappingScope) -> str:
    """The document's code, else the owner's; without either what the printed tax proves, or 04."""
    for path in ("trx_code", "profile.trx_code"):
        given = scope.text(path)
        if given.zfill(2) in TRX_CODES and given.isascii():
            return given.zfill(2)
        if given:
            scope.findings.flag(path, f"{given!r} is none of {TRX_CODES[0]} .. {TRX_CODES[-1]}")
    if _is_full_rate(scope):
        scope.findings.flag("trx_code", "01, because the printed tax is 12 % of the whole net")
        return FULL_BASE
    return OTHER_BASE


def _is_full_rate(scope: MappingScope) -> bool:
    net, tax = scope.number("totals.net"), scope.number("totals.tax")
    if net is None or tax is None or net < HUNDRED:
        return False
    return abs(net * VAT_RATE / HUNDRED - tax) < ONE


def facility_text(scope: MappingScope, path: str) -> str:
    """AddInfo and FacilityStamp exist for codes 07 and 08 only."""
    if scope.once(choose_trx_code) not in WITH_FACILITY:
        return ""
    if not scope.text(path):
        scope.findings.flag(path, "codes 07 and 08 need it in the owner's settings")
    return scope.text(path)


def compute_other_base(code: str, base: Decimal) -> Decimal:
    return round_cents(base * 11 / 12) if code == OTHER_BASE else base


def compute_vat(other: Decimal) -> Decimal:
    return round_cents(other * VAT_RATE / HUNDRED)


def find_exchange_rate(scope: MappingScope) -> Decimal:
    """Rupiah for one unit of the invoice's currency; another currency without a rate is refused."""
    currency = scope.text("currency").upper().rstrip(".")
    if currency in RUPIAH:
        return ONE
    if not currency:
        scope.findings.flag("currency", "none is printed; the amounts are taken for rupiah")
        return ONE
    given = scope.number("exchange_rate") or _find_own_rate(scope, currency)
    if given is None or given <= NOTHING:
        raise DocmillError(
            "GW_4XX",
            f"Coretax takes amounts in IDR, and this invoice is in {currency[:3]}: give the rate"
            f" (rates.{currency[:3]} in the owner's settings), or choose another mapping",
            currency=currency[:3],
            reason=f"Coretax takes amounts in IDR, this invoice is in {currency[:3]}. Give a rate"
            " in Settings, or download as UBL.",
        )
    scope.findings.note(f"amounts in {currency} were multiplied by {format_plain(given)}")
    return given


# The tax office publishes its rates once a week.
RATE_DAYS: Final = 7


def _find_own_rate(scope: MappingScope, currency: str) -> Decimal | None:
    """The owner's rate of the invoice's day; one that may be of another week is looked at."""
    found = find_rate(scope.profile, currency, parse_iso_date(scope.value("issue_date")))
    if found is None:
        return None
    if found.day:
        scope.findings.note(f"the rate of {currency} is that of {found.day}")
    if not 0 <= found.age < RATE_DAYS:
        day = scope.text("issue_date")
        scope.findings.flag("exchange_rate", f"none for {day}: that of {found.day} was taken")
    return found.rupiah


GOODS: Final = "A"
SERVICES: Final = "B"
_SERVICE_UNITS: Final = (
    "Tahun", "Bulan", "Minggu", "Hari", "Jam", "Menit", "Persen", "Kegiatan", "Laporan", "Lumpsum",
    "Orang",
)  # fmt: skip
_SERVICE_WORDS: Final = re.compile(
    r"\b(?:jasa|layanan|sewa|biaya|ongkos|ongkir|konsultasi|konsultan|pelatihan|perawatan|perbaikan"
    r"|pemasangan|instalasi|pengiriman|langganan|komisi|pekerjaan|servis|services?|consult\w*"
    r"|training|maintenance|repair|installation|rental|rent|lease|subscription|fees?|freight"
    r"|shipping|hosting|support|commission|labou?r|handling)\b",
    re.IGNORECASE,
)


def goods_or_services(scope: MappingScope, line: object) -> str:
    """What the line says itself, else what it looks like, else what the owner mostly sells."""
    if (said := clean(look_up(line, "opt"))) in (GOODS, SERVICES):
        return said
    found, description = (
        values.find_unit(look_up(line, "unit")),
        clean(look_up(line, "description")),
    )
    if (found is not None and found.name in _SERVICE_UNITS) or _SERVICE_WORDS.search(description):
        return SERVICES
    own = scope.profile.opt.upper()
    return own if own in (GOODS, SERVICES) else GOODS


CLOSE: Final = ONE  # a rupiah: what rounding on paper may cost a line


@dataclass(frozen=True, slots=True)
class PricedLine:
    index: int
    price: Decimal
    quantity: Decimal
    discount: Decimal

    @property
    def base(self) -> Decimal:
        """From the numbers as written, because that is what the importer recomputes."""
        return round_cents(self.price * self.quantity - self.discount)


def price_line(
    scope: MappingScope, line: LineFigures, *, rate: Decimal, proven: bool
) -> PricedLine:
    """Price x quantity when two decimals can hold them, else one lump of the same money."""
    worth = _line_worth(scope, line, proven=proven, tolerance=CLOSE / rate)
    discount = round_cents(line.discount * rate)
    quantity, price = _fill_price(line, worth)
    if quantity is not None and price is not None:
        row = _drop_signs(
            PricedLine(line.index, round_cents(price * rate), round_cents(quantity), discount)
        )
        if abs(row.base - worth * rate) < CLOSE:
            return row
    if line.quantity not in (None, ONE):
        scope.findings.flag(
            f"lines.{line.index}.quantity",
            "written as 1: with two decimals its quantity and price do not make its amount",
        )
    return _drop_signs(
        PricedLine(line.index, round_cents((worth + line.discount) * rate), ONE, discount)
    )


def _line_worth(
    scope: MappingScope, line: LineFigures, *, proven: bool, tolerance: Decimal
) -> Decimal:
    """What the line comes to, before rounding. `proven`: the printed amounts add up to the net."""
    path = f"lines.{line.index}.amount"
    if line.disagrees(tolerance):
        scope.findings.flag(path, "is not quantity x price - discount")
        if proven and line.amount is not None:
            return line.amount
    worth = line.amount if line.computed_amount is None else line.computed_amount
    if worth is not None:
        return worth
    scope.findings.flag(path, "the line has no amount")
    return NOTHING if line.price is None else line.price - line.discount


def _fill_price(line: LineFigures, worth: Decimal) -> tuple[Decimal | None, Decimal | None]:
    """Quantity and price, the one that is missing from the other."""
    quantity, price, whole = line.quantity, line.price, worth + line.discount
    if quantity is None and price is None:
        return ONE, whole
    if price is None and quantity:
        return quantity, whole / quantity
    if quantity is None and price:
        return whole / price, price
    return quantity, price


def _drop_signs(row: PricedLine) -> PricedLine:
    """Two minus signs make a plus; a line that takes money away keeps its one."""
    if row.base < NOTHING:
        return row
    return replace(row, price=abs(row.price), quantity=abs(row.quantity))


def spread_negatives(scope: MappingScope, rows: list[PricedLine]) -> list[PricedLine]:
    """A line below zero has no place in the file: it becomes a discount on the largest others."""
    owed = -sum((row.base for row in rows if row.base < NOTHING), NOTHING)
    if not owed:
        return rows
    kept = {row.index: row for row in rows if row.base >= NOTHING}
    if sum((row.base for row in kept.values()), NOTHING) < owed:
        raise DocmillError(
            "GW_4XX",
            "the lines come to less than nothing: Coretax takes returns and credit notes apart from"
            " tax invoices; choose another mapping",
            reason="Coretax takes returns and credit notes apart from tax invoices, and the lines"
            " of this one come to less than nothing. Download it as UBL.",
        )
    for row in sorted(kept.values(), key=lambda row: -row.base):
        taken = min(owed, row.base)
        kept[row.index] = replace(row, discount=row.discount + taken)
        owed -= taken
    for row in rows:
        if row.index not in kept:
            scope.findings.flag(f"lines.{row.index}.amount", "below zero: written as a discount")
    return list(kept.values())


NO_TIN: Final = "0" * invoices_values.TIN_LENGTH
INDONESIA: Final = "ID"
OTHER_ID: Final = "Other ID"
_DOCUMENTS: Final = (
    ("National ID", re.compile(r"^(?:nik|ktp|national id)\b[\s.:#-]*", re.IGNORECASE)),
    ("Passport", re.compile(r"^(?:paspor|passport)(?:\s+no)?\b[\s.:#-]*", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class CoretaxSeller:
    tin: str
    idtku: str


@dataclass(frozen=True, slots=True)
class CoretaxBuyer:
    tin: str
    document: str
    country: str
    document_number: str
    idtku: str


def find_seller(scope: MappingScope) -> CoretaxSeller:
    """The document's numbers when it prints them, else the owner's."""
    printed, own = scope.value("seller.tax_id"), scope.profile
    tin = invoices_values.parse_tin(printed)
    owned = invoices_values.parse_tin(own.tin) or invoices_values.parse_tin(own.idtku)
    if not tin and clean(printed):
        scope.findings.flag("seller.tax_id", "is no NPWP of 15 or 16 digits, or NITKU of 22")
    if tin and owned and tin != owned:
        scope.findings.flag("seller.tax_id", "is another NPWP than the owner's")
    if not tin and not owned:
        scope.findings.flag("seller.tax_id", "no NPWP on the document or in the owner's settings")
    if not tin and owned and not _is_own_name(scope):
        scope.findings.flag("seller.name", "is not the owner's, whose NPWP is written")
    return CoretaxSeller(tin or owned, _find_seller_idtku(scope, tin or owned))


def _is_own_name(scope: MappingScope) -> bool:
    """Whether the seller may be the owner, as far as its names are known."""
    printed = _fold_name(scope.text("seller.name"))
    names = [_fold_name(name) for name in scope.profile.names]
    return not printed or not names or any(own in printed or printed in own for own in names)


def _fold_name(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _find_seller_idtku(scope: MappingScope, tin: str) -> str:
    printed, owned = (
        invoices_values.parse_idtku(scope.value("seller.tax_id")),
        invoices_values.parse_idtku(scope.profile.idtku),
    )
    if printed and not printed.endswith(invoices_values.HEAD_OFFICE):
        return printed
    if owned and owned.startswith(tin):
        return owned
    return tin + invoices_values.HEAD_OFFICE if tin else ""


def find_buyer(scope: MappingScope) -> CoretaxBuyer:
    document, number = _identify_document(
        scope.text("buyer.document"), scope.text("buyer.tax_id").strip("- ")
    )
    tin = invoices_values.parse_tin(number)
    if not document and tin:
        return CoretaxBuyer(
            tin, "TIN", values.ALPHA3[INDONESIA], "-", invoices_values.parse_idtku(number)
        )
    if not number:
        scope.findings.flag("buyer.tax_id", "the buyer has no NPWP or other document's number")
    return CoretaxBuyer(
        NO_TIN,
        document or OTHER_ID,
        _find_buyer_country(scope),
        number,
        invoices_values.HEAD_OFFICE,
    )


def _identify_document(said: str, printed: str) -> tuple[str, str]:
    """Which document besides a TIN a number is of, if it says so, and the number itself."""
    for document, label in _DOCUMENTS:
        if found := label.match(printed):
            return document, printed[found.end() :].strip("- ")
        if said == document:
            return document, printed
    return "", printed


def _find_buyer_country(scope: MappingScope) -> str:
    """The buyer's country as printed; where none is, it is the seller's own."""
    found = values.find_country(scope.value("buyer.country"))
    found = found or values.find_ending_country(scope.value("buyer.address"))
    return values.ALPHA3[found or INDONESIA]


@dataclass(frozen=True, slots=True)
class Good:
    index: int
    opt: str
    unit_price: Decimal
    quantity: Decimal
    discount: Decimal
    base: Decimal
    other_base: Decimal
    vat: Decimal


def make_goods(scope: MappingScope) -> list[Good]:
    rate = scope.once(find_exchange_rate)
    rows = _read_lines(scope)
    proven = _is_proven(scope, rows)
    made = [price_line(scope, row, rate=rate, proven=proven) for row in rows]
    found = [_make_good(scope, row) for row in spread_negatives(scope, made)]
    _compare_total(scope, found, "totals.net", sum((good.base for good in found), NOTHING))
    _compare_total(scope, found, "totals.tax", sum((good.vat for good in found), NOTHING))
    return found


def _read_lines(scope: MappingScope) -> list[LineFigures]:
    printed = scope.lines()
    if printed:
        return [read_figures(line, index) for index, line in enumerate(printed)]
    net = scope.number("totals.net")
    if net is None:
        raise DocmillError(
            "GW_4XX",
            "the invoice has neither lines nor a net total: nothing to write",
            reason="The invoice has neither lines nor a net total. Fill them in in review.",
        )
    scope.findings.flag("lines", "none was read: the net total is written as one")
    return [LineFigures(None, None, NOTHING, net)]


def _is_proven(scope: MappingScope, rows: list[LineFigures]) -> bool:
    """The printed amounts are all there and add up to the printed net."""
    amounts = [row.amount for row in rows if row.amount is not None]
    net = scope.number("totals.net")
    return len(amounts) == len(rows) and net is not None and abs(sum(amounts) - net) < CLOSE


def _make_good(scope: MappingScope, row: PricedLine) -> Good:
    line: Any = dict(enumerate(scope.lines())).get(row.index)
    other = compute_other_base(scope.once(choose_trx_code), row.base)
    return Good(
        index=row.index,
        opt=goods_or_services(scope, line),
        unit_price=row.price,
        quantity=row.quantity,
        discount=row.discount,
        base=row.base,
        other_base=other,
        vat=compute_vat(other),
    )


def _compare_total(scope: MappingScope, found: list[Good], path: str, made: Decimal) -> None:
    """Every line may lose a rupiah to rounding; more than that, a person should look."""
    printed = scope.number(path)
    if printed is None:
        return
    if abs(round_cents(printed * scope.once(find_exchange_rate)) - made) > CLOSE * max(
        1, len(found)
    ):
        scope.findings.flag(path, f"the file's lines come to {made}")


CORETAX_FUNCTIONS: Final[Mapping[str, Function]] = {
    "coretax_seller_tin": Function(lambda scope: scope.once(find_seller).tin),
    "coretax_seller_idtku": Function(lambda scope: scope.once(find_seller).idtku),
    "coretax_trx_code": Function(lambda scope: scope.once(choose_trx_code)),
    "coretax_add_info": Function(lambda scope: facility_text(scope, "profile.add_info")),
    "coretax_stamp": Function(lambda scope: facility_text(scope, "profile.facility_stamp")),
    "coretax_buyer_tin": Function(lambda scope: scope.once(find_buyer).tin),
    "coretax_buyer_document": Function(lambda scope: scope.once(find_buyer).document),
    "coretax_buyer_country": Function(lambda scope: scope.once(find_buyer).country),
    "coretax_buyer_number": Function(lambda scope: scope.once(find_buyer).document_number),
    "coretax_buyer_idtku": Function(lambda scope: scope.once(find_buyer).idtku),
    "coretax_goods": Function(make_goods, row=Good),
}
