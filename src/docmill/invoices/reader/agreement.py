"""Two readings of one invoice, by rules and by a model, put together: where they agree a value is
surer, where they differ a person decides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from docmill.invoices.checks import TOLERANCE, line_amount, rounding_slack
from docmill.invoices.fields import InvoiceField
from docmill.invoices.reader.model import Invoice, Values
from docmill.invoices.reader.model_reader import LINE_READ, READ, SIGNLESS, ModelInvoice
from docmill.reading.model_values import NUMBERS, WEAK
from docmill.reading.pages import Value
from docmill.reading.second_opinion import Decision, Dispute, Pair, Terms, decide, weaken

NOTHING: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The invoice as both have read it, and what is open between them."""

    invoice: Invoice
    disputes: tuple[Dispute, ...] = ()


def combine(rules: Invoice, model: ModelInvoice, *, mode: str) -> Agreement:
    """`mode` is `both` or `model`."""
    decisions: dict[str, Decision] = {}
    for field in READ:
        terms = _make_terms(field, model)
        values = rules.values.get(field.path), model.values.get(field.path)
        decisions[field.path] = decide(Pair(field.path, field.kind, *values, terms), mode=mode)
    others = {path: value for path, value in rules.values.items() if path not in decisions}
    values = {**others, **{path: value for path, (value, _) in decisions.items() if value}}
    lines = _combine_lines(rules, model, mode=mode)
    disputes = [dispute for _, dispute in decisions.values() if dispute]
    made = Invoice(values, lines.invoice.lines, rules.taxes)
    if mode == "model":
        made = _weigh_sums(_keep_taxes(made, rules), rules)
    return Agreement(made, (*disputes, *lines.disputes))


def _make_terms(field: InvoiceField, model: ModelInvoice, *, alone: bool = False) -> Terms:
    signless = field.path in SIGNLESS
    return Terms(
        plain=not model.gives_orders, alone=alone, doubted=field.doubted, signless=signless
    )


def _combine_lines(rules: Invoice, model: ModelInvoice, *, mode: str) -> Agreement:
    """One by one where there are as many; else a person is told so, and one of the lists stays."""
    theirs, ours = model.lines, rules.lines
    if model.cut or (mode == "both" and not theirs):
        return Agreement(Invoice({}, ours))
    if len(ours) == len(theirs):
        return _combine_pairs(rules, model, mode=mode)
    count = f"The model reads {_count(len(theirs))}, the rules {_count(len(ours))}"
    dispute = Dispute("lines", _count(len(ours)), Value(_count(len(theirs)), WEAK), count)
    if mode == "both" and ours:
        return Agreement(Invoice({}, ours), (dispute,))
    alone = _combine_pairs(Invoice({}, tuple({} for _ in theirs)), model, mode=mode)
    return replace(alone, disputes=(*alone.disputes, dispute))


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _combine_pairs(rules: Invoice, model: ModelInvoice, *, mode: str) -> Agreement:
    lines: list[Values] = []
    disputes: list[Dispute] = []
    for index, (ours, theirs) in enumerate(zip(rules.lines, model.lines, strict=True)):
        line: dict[str, Value] = {}
        for field in LINE_READ:
            path, name = f"lines[{index}].{field.name}", field.name
            terms = _make_terms(field, model, alone=not ours)
            pair = Pair(path, field.kind, ours.get(name), theirs.get(name), terms)
            value, dispute = decide(pair, mode=mode)
            line |= {name: value} if value else {}
            disputes += [dispute] if dispute else []
        lines.append(line)
    return Agreement(Invoice({}, tuple(lines)), tuple(disputes))


def _keep_taxes(made: Invoice, rules: Invoice) -> Invoice:
    """Taxes by rate are the rules' own; they go with a total tax that is another one."""
    one, other = made.values.get("totals.tax"), rules.values.get("totals.tax")
    same = one and other and Decimal(one.value) == Decimal(other.value)
    return made if same else replace(made, taxes=())


def _weigh_sums(made: Invoice, rules: Invoice) -> Invoice:
    """Amounts that nothing adds up to are no surer than weak: any number on the page would do.

    Where the rules have read the same, that is enough.
    """
    closed = set(_closed_sums(made.values))
    loose = {field.path for field in READ if field.kind in NUMBERS} - closed
    values = {
        path: weaken(value) if path in loose and not is_same(rules.values, path, value) else value
        for path, value in made.values.items()
    }
    lines: list[Values] = []
    for index, line in enumerate(made.lines):
        ours: Values = rules.lines[index] if len(rules.lines) == len(made.lines) else {}
        lines.append(line if _is_line_closed(line) else _weaken_line(line, ours))
    return replace(made, values=values, lines=tuple(lines))


def is_same(values: Values, name: str, value: Value) -> bool:
    return name in values and values[name].value == value.value


def _closed_sums(values: Values) -> Iterator[str]:
    """The totals that others come to."""
    net, tax, gross = (_number(values, f"totals.{name}") for name in ("net", "tax", "gross"))
    due, paid, held = (_number(values, f"totals.{name}") for name in ("due", "paid", "withholding"))
    if gross is not None and net is not None and abs(net + (tax or 0) - gross) <= TOLERANCE:
        yield from ("totals.net", "totals.tax", "totals.gross")
    left = None if gross is None else gross - abs(paid or 0) - abs(held or 0)
    if due is not None and left is not None and abs(due - left) <= TOLERANCE:
        yield from ("totals.due", "totals.paid", "totals.withholding")


def _is_line_closed(line: Values) -> bool:
    quantity, price, amount = (_number(line, name) for name in ("quantity", "unit_price", "amount"))
    if quantity is None or price is None or amount is None:
        return False
    computed = line_amount(quantity, price, _number(line, "discount") or NOTHING)
    return abs(computed - amount) <= max(TOLERANCE, rounding_slack(quantity, price, amount))


def _number(values: Mapping[str, Value], path: str) -> Decimal | None:
    return Decimal(values[path].value) if path in values else None


def _weaken_line(line: Values, rules: Values) -> Values:
    numbers = {field.name for field in LINE_READ if field.kind in NUMBERS}
    return {
        name: weaken(value) if name in numbers and not is_same(rules, name, value) else value
        for name, value in line.items()
    }
