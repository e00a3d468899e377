"""What the European standard EN 16931 wants of an invoice, for UBL and for CII."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Final

from docmill.invoices import values as invoices_values
from docmill.invoices.formats import values
from docmill.invoices.formats.scope import Function, LineFigures, MappingScope, read_figures
from docmill.invoices.values import (
    CENT,
    HUNDRED,
    NOTHING,
    ONE,
    clean,
    look_up,
    parse_number,
    round_cents,
)

_LABEL: Final = re.compile(
    r"^[^0-9:]*:\s*|^(?:npwp|vat|tva|ust|uid)\b\D*?(?=[A-Z]{2}|[0-9])", re.IGNORECASE
)
_VAT: Final = re.compile(r"[A-Z]{2}(?=(?:[^0-9]*[0-9]){5})[A-Z0-9+*]{5,18}")


@dataclass(frozen=True, slots=True)
class VatParty:
    """`vat_id` or `registration` holds the printed number, never both."""

    vat_id: str
    registration: str
    country: str


def _split_identity(printed: str) -> tuple[str, str]:
    joined = re.sub(r"[\s.\-/]", "", _LABEL.sub("", printed)).upper()
    if _VAT.fullmatch(joined) and values.country_of_vat_id(joined):
        return joined, ""
    return "", printed


def _find_party_country(scope: MappingScope, side: str, *, vat_id: str) -> str:
    found = values.find_country(scope.value(f"{side}.country"))
    found = (
        found
        or values.find_ending_country(scope.value(f"{side}.address"))
        or values.country_of_vat_id(vat_id)
    )
    if not found and invoices_values.parse_tin(scope.value(f"{side}.tax_id")):
        return "ID"
    return found


def _make_party(scope: MappingScope, side: str, printed: str) -> VatParty:
    vat_id, registration = _split_identity(printed)
    return VatParty(vat_id, registration, _find_party_country(scope, side, vat_id=vat_id))


def find_seller(scope: MappingScope) -> VatParty:
    """What the document prints, else what the owner has said; otherwise nothing, and a flag."""
    printed = clean(scope.value("seller.tax_id")) or scope.profile.tin
    found = _make_party(scope, "seller", printed)
    country = found.country or values.find_country(scope.profile.country)
    if not country:
        scope.findings.flag(
            "seller.address", "names no country, and the owner's settings give none"
        )
    if not printed:
        scope.findings.flag("seller.tax_id", "none on the document or in the owner's settings")
    return VatParty(found.vat_id, found.registration, country)


def find_buyer(scope: MappingScope) -> VatParty:
    """An address without a country is one in the seller's own, by custom: taken, and flagged."""
    found = _make_party(scope, "buyer", clean(scope.value("buyer.tax_id")))
    if found.country:
        return found
    country = scope.once(find_seller).country if scope.text("buyer.address") else ""
    taken = "; the seller's was taken" if country else ""
    scope.findings.flag("buyer.address", f"names no country{taken}")
    return VatParty(found.vat_id, found.registration, country)


STANDARD: Final = "S"
ZERO: Final = "Z"
OUTSIDE: Final = "O"
_STEP: Final = Decimal("0.1")  # rates in use are whole numbers or tenths
_HIGHEST: Final = Decimal(50)


def printed_rate(line: object) -> Decimal | None:
    rate = parse_number(look_up(line, "tax_rate"))
    return rate if rate is not None and NOTHING <= rate < HUNDRED else None


def overall_rate(net: Decimal | None, tax: Decimal | None, *, lines: int) -> Decimal | None:
    """The one rate that makes the tax of the net, when it is a rate that somebody could levy."""
    if tax == NOTHING:
        return NOTHING
    if net is None or tax is None or net == NOTHING:
        return None
    rate = (tax / net * HUNDRED).quantize(_STEP)
    close = CENT * max(2, lines)
    sharp = abs(net) * _STEP / HUNDRED > close
    whole = rate.quantize(Decimal(1))
    for each in (whole, rate) if sharp else (whole,):
        if NOTHING < each <= _HIGHEST and abs(round_cents(net * each / HUNDRED) - tax) <= close:
            return each
    return None


def choose_category(scope: MappingScope, rate: Decimal | None) -> str:
    """Standard where there is tax. Why there is none is seldom printed: a person should say."""
    if rate is None or rate > NOTHING:
        return STANDARD
    seller = scope.once(find_seller)
    scope.findings.flag("totals.tax", "a rate of zero: look whether it is zero-rated or exempt")
    return ZERO if seller.vat_id or seller.registration else OUTSIDE


MOST_MIXED_LINES: Final = 12  # lines; every way of sharing them out is tried

# Rates of VAT in force lately, of countries whose invoices seldom say which line has which.
_COUNTRY_RATES: Final[Mapping[str, tuple[str, ...]]] = {
    "AT": ("20", "13", "10", "0"),
    "BE": ("21", "12", "6", "0"),
    "CH": ("8.1", "2.6", "7.7", "2.5", "0"),
    "DE": ("19", "7", "0"),
    "ES": ("21", "10", "4", "0"),
    "FR": ("20", "10", "5.5", "2.1", "0"),
    "GB": ("20", "5", "0"),
    "IT": ("22", "10", "5", "4", "0"),
    "LU": ("17", "14", "8", "3", "0"),
    "NL": ("21", "9", "0"),
    "PL": ("23", "8", "5", "0"),
    "PT": ("23", "13", "6", "0"),
}


def share_rates(amounts: Sequence[Decimal], tax: Decimal, country: str) -> list[Decimal] | None:
    """A rate for each amount, or None when no way or more than one makes exactly this tax."""
    if not 2 <= len(amounts) <= MOST_MIXED_LINES:
        return None
    cents, wanted = [int(amount * HUNDRED) for amount in amounts], int(tax * HUNDRED)
    pairs = combinations(map(Decimal, _COUNTRY_RATES.get(country, ())), 2)
    found = [way for high, low in pairs for way in _ways_to_share(cents, wanted, high, low=low)]
    return found[0] if len(found) == 1 else None


def _ways_to_share(
    cents: list[int], wanted: int, high: Decimal, *, low: Decimal
) -> Iterator[list[Decimal]]:
    """Every proper subset of the lines whose tax at the high rate leaves the rest for the low."""
    sums = [0]
    for amount in cents:
        sums += [each + amount for each in sums]
    tenths = int(high * 10), int(low * 10)
    for mask in range(1, len(sums) - 1):
        parts = sums[mask], sums[-1] - sums[mask]
        if sum(map(_tax_cents, parts, tenths)) == wanted:
            yield [high if mask >> place & 1 else low for place in range(len(cents))]


def _tax_cents(cents: int, tenths: int) -> int:
    return (2 * cents * tenths + 1000) // 2000


@dataclass(frozen=True, slots=True)
class CompleteTotals:
    lines: Decimal | None
    net: Decimal | None
    tax: Decimal | None
    gross: Decimal | None
    paid: Decimal
    due: Decimal | None


def complete_totals(scope: MappingScope) -> CompleteTotals:
    net, tax, gross = (_printed_total(scope, name) for name in ("net", "tax", "gross"))
    lines = _sum_lines(scope)
    if net is None and gross is not None and tax is not None:
        net = gross - tax
    if net is None:
        net = _net_of_lines(lines, tax, gross)
    if tax is None:
        tax = _tax_of_lines(scope) if gross is None or net is None else gross - net
        scope.findings.flag("totals.tax", f"not printed; {tax} was taken")
    if gross is None and net is not None:
        gross = net + tax
    paid, due = _find_payment(scope, gross)
    return CompleteTotals(lines, net, tax, gross, paid, due)


def _printed_total(scope: MappingScope, name: str) -> Decimal | None:
    found = scope.number(f"totals.{name}")
    return None if found is None else round_cents(found)


def _sum_lines(scope: MappingScope) -> Decimal | None:
    worths = [read_figures(line, index).worth for index, line in enumerate(scope.lines())]
    return (
        sum((round_cents(worth) for worth in worths if worth is not None), NOTHING)
        if worths
        else None
    )


def _tax_of_lines(scope: MappingScope) -> Decimal:
    """The tax that the lines' own rates make, each rate on the sum of its lines."""
    bases: dict[Decimal, Decimal] = {}
    for index, line in enumerate(scope.lines()):
        rate, worth = printed_rate(line), read_figures(line, index).worth
        if rate is not None and worth is not None:
            bases[rate] = bases.get(rate, NOTHING) + round_cents(worth)
    return sum((round_cents(base * rate / HUNDRED) for rate, base in bases.items()), NOTHING)


def _net_of_lines(
    lines: Decimal | None, tax: Decimal | None, gross: Decimal | None
) -> Decimal | None:
    """Lines that already come to the gross hold the tax."""
    if lines is not None and tax is not None and lines == gross:
        return lines - tax
    return gross if lines is None else lines


def _find_payment(scope: MappingScope, gross: Decimal | None) -> tuple[Decimal, Decimal | None]:
    """What was paid before and what is left. Tax withheld by the buyer has no place of its own."""
    paid, due = _printed_total(scope, "paid"), _printed_total(scope, "due")
    withheld = _printed_total(scope, "withholding") or NOTHING
    if gross is None:
        return paid or NOTHING, due
    if due is not None and due <= gross:
        if due < gross and withheld:
            scope.findings.flag(
                "totals.withholding", "is written as paid before: the norm has no other"
            )
        return gross - due, due
    if due is not None:
        scope.findings.flag("totals.due", "is more than the gross; gross less paid was taken")
    before = abs(paid or NOTHING) + abs(withheld)
    return before, gross - before


_FINE: Final = Decimal("0.000001")  # of a price that was computed, not printed


@dataclass(frozen=True, slots=True)
class EinvoiceRow:
    index: int
    number: int
    quantity: Decimal
    unit_price: Decimal | None
    discount: Decimal
    amount: Decimal | None
    tax_rate: Decimal | None
    category: str

    @property
    def percent(self) -> Decimal | None:
        """The rate as written: what is not subject to VAT has none."""
        return None if self.category == OUTSIDE else self.tax_rate


def make_rows(scope: MappingScope) -> list[EinvoiceRow]:
    found = [read_figures(line, index) for index, line in enumerate(scope.lines())]
    totals = scope.once(complete_totals)
    rates = _choose_rates(scope, found, totals)
    made = [_make_row(scope, *pair) for pair in zip(found, rates, strict=True)]
    return _remove_tax(scope, made, totals)


def _choose_rates(
    scope: MappingScope, found: list[LineFigures], totals: CompleteTotals
) -> list[Decimal | None]:
    """As printed; else the one rate of the whole invoice, or the one mix that makes its tax."""
    printed = [printed_rate(line) for line in scope.lines()]
    one_rate = overall_rate(totals.net, totals.tax, lines=len(printed))
    given = [one_rate if rate is None else rate for rate in printed]
    if None not in given:
        return given
    mix = _find_mix(scope, found, totals) if {*printed} == {None} else None
    for index, rate in enumerate(given):
        if rate is None:
            why = "taken from the totals" if mix else "and the totals do not prove one"
            scope.findings.flag(f"lines.{index}.tax_rate", f"not printed, {why}")
    return [*mix] if mix else given


def _find_mix(
    scope: MappingScope, found: list[LineFigures], totals: CompleteTotals
) -> list[Decimal] | None:
    worths = [round_cents(numbers.worth) for numbers in found if numbers.worth is not None]
    if totals.tax is None or len(worths) < len(found) or sum(worths) != totals.net:
        return None
    return share_rates(worths, totals.tax, scope.once(find_seller).country)


def _make_row(scope: MappingScope, numbers: LineFigures, rate: Decimal | None) -> EinvoiceRow:
    amount = None if numbers.worth is None else round_cents(numbers.worth)
    quantity, price = numbers.quantity, numbers.price
    quantity = ONE if quantity is None or (quantity == NOTHING and amount) else quantity
    if price is None and amount is not None and quantity:
        price = (amount + numbers.discount) / quantity
        price = price if price == price.quantize(CENT) else price.quantize(_FINE)
    if price is not None and price < NOTHING:
        quantity, price = -quantity, -price
    return EinvoiceRow(
        index=numbers.index,
        number=numbers.index + 1,
        quantity=quantity,
        unit_price=price,
        discount=round_cents(numbers.discount),
        amount=amount,
        tax_rate=rate,
        category=choose_category(scope, rate),
    )


def _remove_tax(
    scope: MappingScope, made: list[EinvoiceRow], totals: CompleteTotals
) -> list[EinvoiceRow]:
    """Prices that hold the tax, as shops print them, become net: the standard knows no others."""
    whole = sum((row.amount or NOTHING for row in made), NOTHING)
    close = CENT * max(1, len(made))
    if not made or not totals.tax or totals.gross is None or totals.net is None:
        return made
    if abs(whole - totals.gross) > close or abs(whole - totals.net) <= close:
        return made
    scope.findings.flag("lines", "their amounts hold the tax; it was taken out of them")
    net = [_without_tax(row) for row in made]
    rest = totals.net - sum((row.amount or NOTHING for row in net), NOTHING)
    largest = max(net, key=lambda row: abs(row.amount or NOTHING))
    if abs(rest) <= close:
        net[net.index(largest)] = replace(largest, amount=(largest.amount or NOTHING) + rest)
    return net


def _without_tax(row: EinvoiceRow) -> EinvoiceRow:
    if row.tax_rate is None or row.amount is None:
        return row
    factor = HUNDRED / (HUNDRED + row.tax_rate)
    price = None if row.unit_price is None else (row.unit_price * factor).quantize(_FINE)
    discount = round_cents(row.discount * factor)
    return replace(
        row, unit_price=price, discount=discount, amount=round_cents(row.amount * factor)
    )


REASON_OUTSIDE: Final = "Not subject to VAT"


@dataclass(frozen=True, slots=True)
class VatGroup:
    """One rate of the breakdown."""

    category: str
    percent: Decimal | None
    base: Decimal
    tax: Decimal | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """An allowance or charge on the whole document. `is_charge` as UBL and CII write it."""

    is_charge: str
    amount: Decimal
    reason: str
    category: str
    percent: Decimal | None


@dataclass(frozen=True, slots=True)
class VatSums:
    rows: list[EinvoiceRow]
    lines: Decimal | None
    differences: list[DocumentDifference]
    groups: list[VatGroup]


def sum_up(scope: MappingScope) -> VatSums:
    found, totals = scope.once(make_rows), scope.once(complete_totals)
    amounts = [row.amount for row in found if row.amount is not None]
    lines = sum(amounts, NOTHING) if found else None
    bases = _bases_by_rate(found)
    differences: list[DocumentDifference] = []
    if lines is not None and totals.net is not None and lines != totals.net:
        rate = _rate_of_difference(scope, totals.net - lines, bases)
        differences = [_make_difference(scope, totals.net - lines, rate)]
        bases[rate] = bases.get(rate, NOTHING) + totals.net - lines
    groups = [_make_group(scope, rate, base) for rate, base in bases.items()]
    return VatSums(found, lines, differences, _match_printed_tax(groups, totals.tax))


def _bases_by_rate(found: list[EinvoiceRow]) -> dict[Decimal | None, Decimal]:
    bases: dict[Decimal | None, Decimal] = {}
    for row in found:
        bases[row.tax_rate] = bases.get(row.tax_rate, NOTHING) + (row.amount or NOTHING)
    return dict(sorted(bases.items(), key=lambda each: -(each[0] or NOTHING)))


def _rate_of_difference(
    scope: MappingScope, amount: Decimal, bases: dict[Decimal | None, Decimal]
) -> Decimal | None:
    """The rate of what the lines lack: the one that makes the printed tax."""
    tax = scope.once(complete_totals).tax
    return min(bases, key=lambda rate: _tax_miss(bases, rate, amount, tax=tax))


def _make_difference(
    scope: MappingScope, amount: Decimal, rate: Decimal | None
) -> DocumentDifference:
    """The printed net is kept: what the lines lack of it becomes an allowance or a charge."""
    scope.findings.flag("totals.net", f"the lines differ from it by {amount}")
    category = choose_category(scope, rate)
    percent = None if category == OUTSIDE else rate
    if amount > NOTHING:
        return DocumentDifference("true", amount, "Charge", category, percent)
    return DocumentDifference("false", -amount, "Discount", category, percent)


def _tax_miss(
    bases: dict[Decimal | None, Decimal],
    rate: Decimal | None,
    amount: Decimal,
    *,
    tax: Decimal | None,
) -> tuple[Decimal, Decimal]:
    """How far the tax would be off if the difference were taxed at this rate."""
    moved = {**bases, rate: bases[rate] + amount}
    made = sum(
        (round_cents(base * (each or NOTHING) / HUNDRED) for each, base in moved.items()), NOTHING
    )
    return abs(made - (made if tax is None else tax)), -abs(bases[rate])


def _make_group(scope: MappingScope, rate: Decimal | None, base: Decimal) -> VatGroup:
    category = choose_category(scope, rate)
    if category == OUTSIDE:
        return VatGroup(category, None, base, NOTHING, REASON_OUTSIDE)
    return VatGroup(
        category, rate, base, None if rate is None else round_cents(base * rate / HUNDRED)
    )


def _match_printed_tax(groups: list[VatGroup], tax: Decimal | None) -> list[VatGroup]:
    """A group without a rate has the tax that is left; cents lost to rounding go to the largest."""
    if not groups or tax is None:
        return groups
    rest = tax - sum((group.tax or NOTHING for group in groups), NOTHING)
    largest = max(groups, key=lambda group: (group.tax is None, abs(group.tax or NOTHING)))
    if largest.tax is not None and (not largest.tax or abs(rest) >= ONE):
        return groups
    adjusted = replace(largest, tax=(largest.tax or NOTHING) + rest)
    return [adjusted if group is largest else group for group in groups]


def _sum_differences(scope: MappingScope, is_charge: str) -> Decimal | None:
    found = (each for each in scope.once(sum_up).differences if each.is_charge == is_charge)
    return sum((each.amount for each in found), NOTHING) or None


def name_seller(scope: MappingScope) -> str:
    """As printed; where no name was read, the owner's own, which a person should look at."""
    if printed := scope.text("seller.name"):
        return printed
    if scope.profile.name:
        scope.findings.flag("seller.name", "none was read: the owner's name is written")
    return scope.profile.name


EN16931_FUNCTIONS: Final[Mapping[str, Function]] = {
    "seller_vat_id": Function(lambda scope: scope.once(find_seller).vat_id),
    "seller_name": Function(name_seller),
    "seller_registration": Function(lambda scope: scope.once(find_seller).registration),
    "seller_country": Function(lambda scope: scope.once(find_seller).country),
    "buyer_vat_id": Function(lambda scope: scope.once(find_buyer).vat_id),
    "buyer_registration": Function(lambda scope: scope.once(find_buyer).registration),
    "buyer_country": Function(lambda scope: scope.once(find_buyer).country),
    "total_lines": Function(lambda scope: scope.once(sum_up).lines),
    "total_allowance": Function(lambda scope: _sum_differences(scope, "false")),
    "total_charge": Function(lambda scope: _sum_differences(scope, "true")),
    "total_net": Function(lambda scope: scope.once(complete_totals).net),
    "total_tax": Function(lambda scope: scope.once(complete_totals).tax),
    "total_gross": Function(lambda scope: scope.once(complete_totals).gross),
    "total_paid": Function(lambda scope: scope.once(complete_totals).paid or None),
    "total_due": Function(lambda scope: scope.once(complete_totals).due),
    "invoice_lines": Function(lambda scope: scope.once(sum_up).rows, row=EinvoiceRow),
    "document_differences": Function(
        lambda scope: scope.once(sum_up).differences, row=DocumentDifference
    ),
    "vat_groups": Function(lambda scope: scope.once(sum_up).groups, row=VatGroup),
}
