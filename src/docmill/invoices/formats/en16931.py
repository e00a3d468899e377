"""What the European standard EN 16931 wants of an invoice, for UBL and for CII."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.invoices.formats.rates import find_rate, has_rate, printed_rate, share_rates
from docmill.invoices.formats.scope import Function, LineFigures, MappingScope, read_figures
from docmill.invoices.formats.vat_parties import (
    VatParty,
    find_seller,
    identify_seller,
    is_outside_vat,
    make_party,
    name_seller,
)
from docmill.invoices.values import (
    CENT,
    HUNDRED,
    NOTHING,
    ONE,
    clean,
    round_cents,
)


def find_buyer(scope: MappingScope) -> VatParty:
    """An address without a country is one in the seller's own, by custom: taken, and flagged."""
    found = make_party(scope, "buyer", clean(scope.value("buyer.tax_id")))
    if any(group.category == OUTSIDE for group in scope.once(sum_up).groups):
        found = replace(found, vat_id="", registration=found.vat_id or found.registration)
    if found.country:
        return found
    country = scope.once(find_seller).country if scope.text("buyer.address") else ""
    taken = "; the seller's was taken" if country else ""
    scope.findings.flag("buyer.address", f"names no country{taken}")
    return VatParty(found.vat_id, found.registration, country)


STANDARD: Final = "S"
ZERO: Final = "Z"
OUTSIDE: Final = "O"


def choose_category(scope: MappingScope, rate: Decimal | None) -> str:
    """Standard where there is tax. Why there is none is seldom printed: a person should say."""
    if rate is None or rate > NOTHING:
        return STANDARD
    if is_outside_vat(scope):
        return OUTSIDE
    seller = scope.once(find_seller)
    scope.findings.flag("totals.tax", "a rate of zero: look whether it is zero-rated or exempt")
    return ZERO if seller.vat_id or seller.registration else OUTSIDE


@dataclass(frozen=True, slots=True)
class CompleteTotals:
    """`sales_tax` is part of the net: a tax that is no VAT, which the standard calls a charge."""

    lines: Decimal | None
    net: Decimal | None
    tax: Decimal | None
    gross: Decimal | None
    paid: Decimal
    due: Decimal | None
    sales_tax: Decimal = NOTHING


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
    deducted = _find_deduction(scope, net, tax, gross=gross)
    if gross is not None and deducted:
        gross += deducted
    paid, due = _find_payment(scope, gross, deducted)
    made = CompleteTotals(lines, net, tax, gross, paid, due)
    return _move_sales_tax(scope, made) if is_outside_vat(scope) else made


def _move_sales_tax(scope: MappingScope, made: CompleteTotals) -> CompleteTotals:
    if not made.tax or made.net is None:
        return made
    scope.findings.flag("totals.tax", "is no VAT: it is written as a charge")
    return replace(made, net=made.net + made.tax, tax=NOTHING, sales_tax=made.tax)


WITHHELD_IN: Final = "ID"  # where the printed total is what is left after the buyer's withholding
MOST_WITHHELD: Final = Decimal("0.2")  # of the net


def _find_deduction(
    scope: MappingScope, net: Decimal | None, tax: Decimal, *, gross: Decimal | None
) -> Decimal:
    """Tax that the buyer withholds, where the printed total has already lost it."""
    if net is None or gross is None or net + tax <= gross:
        return NOTHING
    missing, withheld = net + tax - gross, abs(_printed_total(scope, "withholding") or NOTHING)
    custom = scope.once(find_seller).country == WITHHELD_IN and missing < net * MOST_WITHHELD
    if not custom and abs(missing - withheld) > CENT:
        return NOTHING
    scope.findings.flag("totals.gross", f"{missing} was withheld from it: written as paid before")
    return missing


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


def _find_payment(
    scope: MappingScope, gross: Decimal | None, deducted: Decimal
) -> tuple[Decimal, Decimal | None]:
    """What was paid before and what is left. Tax withheld by the buyer has no place of its own."""
    paid, due = _printed_total(scope, "paid"), _printed_total(scope, "due")
    withheld = deducted or _printed_total(scope, "withholding") or NOTHING
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
    """As printed; else the one rate of the rest, or the one mix that makes the tax."""
    if is_outside_vat(scope):
        return [NOTHING] * len(found)
    printed = [printed_rate(line) for line in scope.lines()]
    net, tax = _subtract_printed(found, printed, totals)
    rest = find_rate(net, tax, lines=len(printed))
    country = scope.once(find_seller).country
    mix = None
    if {*printed} == {None} and not (rest == NOTHING or has_rate(country, rest)):
        mix = _find_mix(scope, found, totals)
    given: list[Decimal | None] = [rest if rate is None else rate for rate in printed]
    for index, rate in enumerate(printed):
        if rate is None and (mix or rest is None):
            why = "taken from the totals" if mix else "and the totals do not prove one"
            scope.findings.flag(f"lines.{index}.tax_rate", f"not printed, {why}")
    return [*mix] if mix else given


def _subtract_printed(
    found: list[LineFigures], printed: list[Decimal | None], totals: CompleteTotals
) -> tuple[Decimal | None, Decimal | None]:
    """Net and tax that lines without a rate of their own account for."""
    net, tax = totals.net, totals.tax
    for line, rate in zip(found, printed, strict=True):
        if rate is not None and None not in printed:
            break
        if rate is not None and line.worth is not None and net is not None and tax is not None:
            net -= line.worth
            tax -= round_cents(line.worth * rate / HUNDRED)
    return net, tax


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
SALES_TAX: Final = "Sales tax"


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
    if totals.sales_tax and lines is not None:
        differences = [DocumentDifference("true", totals.sales_tax, SALES_TAX, OUTSIDE, None)]
        bases[NOTHING] = bases.get(NOTHING, NOTHING) + totals.sales_tax
    rest = None if lines is None or totals.net is None else totals.net - totals.sales_tax - lines
    if rest:
        rate = _rate_of_difference(scope, rest, bases)
        differences += [_make_difference(scope, rest, rate)]
        bases[rate] = bases.get(rate, NOTHING) + rest
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
    if largest.tax is not None and (not largest.tax or abs(rest) > ONE):
        return groups
    adjusted = replace(largest, tax=(largest.tax or NOTHING) + rest)
    return [adjusted if group is largest else group for group in groups]


def _sum_differences(scope: MappingScope, is_charge: str) -> Decimal | None:
    found = (each for each in scope.once(sum_up).differences if each.is_charge == is_charge)
    return sum((each.amount for each in found), NOTHING) or None


EN16931_FUNCTIONS: Final[Mapping[str, Function]] = {
    "seller_vat_id": Function(lambda scope: scope.once(find_seller).vat_id),
    "seller_name": Function(name_seller),
    "seller_registration": Function(lambda scope: scope.once(find_seller).registration),
    "seller_identifier": Function(identify_seller),
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
