"""An invoice held against its truth, value by value, as the shared corpus tells it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from docmill.core.scoring import JudgedValue
from docmill.invoices.fields import lines_of, value_at
from docmill.invoices.values import parse_number

CENT: Final = Decimal("0.01")
HEAD: Final = {  # path: its name in the truth
    "invoice_number": "invoice_number",
    "issue_date": "issue_date",
    "due_date": "due_date",
    "currency": "currency",
    "seller.name": "seller_name",
    "buyer.name": "buyer_name",
    "totals.net": "net",
    "totals.tax": "tax",
    "totals.gross": "gross",
}
LINE: Final = ("amount", "quantity", "unit_price")

Truth = Mapping[str, Any]


def judge_invoice(record: Truth, data: Truth) -> Iterator[JudgedValue]:
    """Each value that the truth knows, and each line that it does not."""
    truth: Truth = record["truth"]
    others: Truth = record.get("alts") or {}
    for path, name in HEAD.items():
        if truth.get(name) is not None:
            wants = [str(truth[name]), *map(str, others.get(name, ()))]
            value = value_at(data, path)
            right = any(_is_same(path, want, value) for want in wants)
            yield _judge(record, data, path, right=right, wanted=wants[0])
    if truth.get("lines") is not None:
        yield from _judge_lines(record, data, truth["lines"])


def _judge(
    record: Truth, data: Truth, path: str, *, right: bool, wanted: str | None
) -> JudgedValue:
    evidence: Any = data.get("evidence") or {}
    seen: Any = evidence.get(path) or {}
    field = f"lines.{path.rpartition('.')[2]}" if path.startswith("lines") else path
    return JudgedValue(
        document=record["file"],
        path=path,
        field=field,
        right=right,
        wanted=wanted,
        value=value_at(data, path),
        confidence=seen.get("confidence", 0.0),
        page=seen.get("page"),
        box=seen.get("box"),
    )


def _judge_lines(record: Truth, data: Truth, wanted: Sequence[Truth]) -> Iterator[JudgedValue]:
    """A line is known by its amount. One that was not found is a missing amount."""
    left = dict(enumerate(lines_of(data)))
    for line in wanted:
        amounts = [line["amount"], *(line.get("amount_alts") or ())]
        index = next((at for at, got in left.items() if _is_any(got["amount"], amounts)), None)
        if index is None:
            want = str(line["amount"])
            yield JudgedValue(record["file"], "lines", "lines.amount", right=False, wanted=want)
            continue
        got = left.pop(index)
        for name in LINE:
            want = line.get(name)
            if want is not None:
                right = name == "amount" or is_near(got[name], want)
                path = f"lines[{index}].{name}"
                yield _judge(record, data, path, right=right, wanted=str(want))
    optional = [item["amount"] for item in record.get("optional_lines") or ()]
    for index, got in left.items():
        if not _is_any(got["amount"], optional):
            yield _judge(record, data, f"lines[{index}].amount", right=False, wanted=None)


def _is_same(path: str, wanted: str, value: object) -> bool:
    if path.startswith("totals"):
        return is_near(value, wanted)
    return _fold(wanted) == _fold(str(value or ""))


def _fold(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _is_any(value: object, wanted: Sequence[object]) -> bool:
    return any(is_near(value, each) for each in wanted)


def is_near(value: object, wanted: object) -> bool:
    one, other = parse_number(value), parse_number(wanted)
    return one is not None and other is not None and abs(one - other) <= CENT
