"""How sure the values of an invoice are, by what was seen of them; fitted, not set by hand.

Everything is taken from the canonical JSON and the text of the pages, so that it holds whatever
reader found the values. `python -m eval.fit_confidence --write` fits the weights.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final

from docmill.core.calibration import SCANNED, Calibration, load_calibration, score_feature
from docmill.invoices.checks import BROKEN, HELD, find_certain
from docmill.invoices.fields import lines_of, split_path, value_at
from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.domains import is_known_by
from docmill.invoices.reader.names import is_name, is_place
from docmill.invoices.values import parse_number
from docmill.reading.dates import find_dates
from docmill.reading.labels import COMPANY, names_company, squeeze
from docmill.reading.numbers import has_figure
from docmill.reading.pages import Page

KINDS: Final = {
    "invoice_number": "number",
    "issue_date": "date",
    "due_date": "date",
    "currency": "currency",
    "seller.name": "name",
    "buyer.name": "name",
    "totals.net": "total",
    "totals.tax": "total",
    "totals.gross": "total",
    "lines.amount": "line",
    "lines.quantity": "line",
    "lines.unit_price": "line",
    "no due_date": "absent",
    "no totals.tax": "absent",
}
HEAD: Final = tuple(path for path in KINDS if not path.startswith(("lines", "no ")))
OPTIONAL: Final = ("due_date", "totals.tax")  # may be missing, and then rightly or not
NEAR: Final = 1.0  # point: how far a value may reach out of its cell
USUAL_GAP: Final = range(96)  # days from invoice to due date
OFTEN: Final = 4
LEAST_SURE: Final = 0.85  # what the reader itself calls less sure is never sure
UNSURE: Final = 0.89
MOST_AGREED: Final = 0.97  # two readers of one page may be misled by the same thing
_AMOUNT: Final = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d)?|\d+[.,]\d\d")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_GOES_ON: Final = re.compile(r"[,.]?\w")
_HOST: Final = re.compile(r"(?:@|www\.)([\w.-]+)\.\w{2,}", re.IGNORECASE)
_NAMES: Final = ("seller.name", "buyer.name")
NAME_LENGTH: Final = 70  # characters
_ODD_IN_NAMES: Final = re.compile(r"[:/\\|@{}<>=]")

Features = dict[str, float]
InvoiceJson = Mapping[str, Any]


@dataclass(slots=True)  # not frozen, as boxes
class PlacedText:
    """A run of words without a wide gap, and where it stands."""

    page: int
    box: Sequence[float]
    text: str

    def holds(self, page: int, box: Sequence[float]) -> bool:
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        across = self.box[0] - NEAR <= x <= self.box[2] + NEAR
        return self.page == page and across and self.box[1] - NEAR <= y <= self.box[3] + NEAR


def list_texts(pages: Sequence[Page]) -> list[PlacedText]:
    return [
        PlacedText(page.number, cell.box.to_list(), cell.text)
        for page in pages
        for line in page.lines
        for cell in line.cells
    ]


@cache
def load_fitted() -> Calibration:
    kept = resources.files("docmill.invoices").joinpath("confidence.json")
    return load_calibration(kept.read_text("utf-8"))


def name_field(path: str) -> str:
    """The field of a path, the same for all lines: `lines.amount`."""
    inside = split_path(path)
    return f"lines.{inside[1]}" if inside else path


@dataclass(frozen=True)  # no slots: what the page says is asked for by several values, and kept
class Describer:
    """Tells the features of an invoice's values; what they share is told once."""

    data: InvoiceJson
    texts: Sequence[PlacedText]
    keys: Sequence[str]
    shared: Features
    sums: Features
    scores: Mapping[str, float]

    @classmethod
    def of(cls, data: InvoiceJson, texts: Sequence[PlacedText]) -> "Describer":
        evidence: Mapping[str, Any] = data["evidence"]
        scores = {path: score_feature(each["confidence"]) for path, each in evidence.items()}
        absent = sum(value_at(data, path) is None for path in HEAD)
        keys = [squeeze(each.text) for each in texts]
        sums = _describe_sums(data)
        doubts = find_certain(data, data["checks"])
        shared = {"absent": absent / 3, "clean": float(not doubts)}
        return cls(data, texts, keys, shared, sums, scores)

    def describe(self, path: str) -> Features:
        """What is known of a value that was read from a page."""
        field, seen = name_field(path), self.data["evidence"][path]
        scanned = float(seen["page"] in (self.data.get("scanned_pages") or ()))
        score = self.scores[path]
        others = [self.scores[each] for each in HEAD if each != path and each in self.scores]
        common = {
            "score": score,
            SCANNED: scanned,
            "scanned_score": scanned * score,
            "others": sum(others) / len(others) if others else -2.0,
            "later": float((seen["page"] or 1) > 1),
        }
        return {**common, **self.shared, **self._describe_kind(path, KINDS[field])}

    def find_limit(self, path: str) -> float:
        """What a value is never surer than: made documents teach that doubts of the reader are
        mostly needless, and on real ones they are not."""
        return UNSURE if self.data["evidence"][path]["confidence"] < LEAST_SURE else 1.0

    def describe_absence(self, path: str) -> Features:
        """What speaks for a value that was not found: words and figures that belong to it."""
        scanned = float(bool(self.data.get("scanned_pages")))
        own = self._seek_due() if path == "due_date" else self._seek_tax()
        return {"score": 0.0, SCANNED: scanned, **self.shared, **self.sums, **own}

    def _seek_due(self) -> Features:
        issued = _parse_date(value_at(self.data, "issue_date"))
        days = [each.day for one in self.texts for each in find_dates(one.text)]
        texts = [one.text for one in self.texts]
        return {
            "later_day": float(any(issued is None or day > issued for day in days)),
            "due_word": float(any(_begins_with(lexicon.DUE_LABELS, text) for text in texts)),
            "days": float(any(lexicon.DAYS.search(text) for text in texts)),
        }

    def _seek_tax(self) -> Features:
        return {
            "tax_word": float(any(find_role(one.text)[0] == "tax" for one in self.texts)),
            "percent": float(any("%" in one.text for one in self.texts)),
        }

    def _describe_kind(self, path: str, kind: str) -> Features:
        value = str(value_at(self.data, path))
        match kind:
            case "number":
                return self._fits() | _describe_number(value) | self._describe_place(path, kind)
            case "name":
                own = _describe_name(self.data, path, value) | self._describe_mentions(path, value)
                return self._fits() | own | self._describe_place(path, kind)
            case "date":
                return self._fits() | _describe_date(self.data, value) | self._describe_days()
            case "total":
                return self.sums | _describe_total(self.data, value)
            case "line":
                return self.sums | _describe_line(self.data, path)
            case _:
                return self._fits()

    def _describe_mentions(self, path: str, value: str) -> Features:
        """What other places of the page say of a name: agreeing, longer, shorter, or of others."""
        key, stem = squeeze(value), squeeze(COMPANY.sub("", value))
        parties = [squeeze(str(value_at(self.data, each) or "")) for each in _NAMES]
        rivals = sum(not any(own and own in firm for own in parties) for firm in self._firms)
        return {
            "linked": float(any(is_known_by(value, domain) for domain in self._domains)),
            "varied": float(len(stem) > 3 and any(_is_variant(key, stem, k) for k in self.keys)),
            "rivals": min(rivals, OFTEN) / OFTEN,
            "told_more": float(any(each.startswith(key) and each != key for each in self.keys)),
        }

    @cached_property
    def _firms(self) -> set[str]:
        return {
            key
            for one, key in zip(self.texts, self.keys, strict=True)
            if len(one.text) < NAME_LENGTH and names_company(one.text)
        }

    @cached_property
    def _domains(self) -> set[str]:
        found = (_HOST.finditer(one.text) for one in self.texts if "." in one.text)
        return {squeeze(max(match[1].split("."), key=len)) for each in found for match in each}

    def _describe_days(self) -> Features:
        """How many days the page names, and whether the printed terms lead to the due date."""
        issued, due = (
            _parse_date(value_at(self.data, path)) for path in ("issue_date", "due_date")
        )
        days, terms = self._days, self._terms
        gap = (due - issued).days if issued and due else None
        return {
            "many_days": min(len(days), OFTEN) / OFTEN,
            "earlier_day": float(issued is not None and any(day < issued for day in days)),
            "terms_fit": float(gap is not None and gap in terms),
        }

    @cached_property
    def _days(self) -> set[date]:
        return {each.day for one in self.texts for each in find_dates(one.text)}

    @cached_property
    def _terms(self) -> set[int]:
        """The numbers of days that the page names."""
        texts = (one.text for one in self.texts if has_figure(one.text))
        return {int(match[1]) for text in texts for match in lexicon.DAYS.finditer(text)}

    def _fits(self) -> Features:
        return {"fits": self.sums["closed"] + self.sums["lines_fit"]}

    def _describe_place(self, path: str, kind: str) -> Features:
        """What stands around a value in its cell, and where else it is written."""
        seen, key = self.data["evidence"][path], squeeze(str(value_at(self.data, path)))
        again = sum([key in each for each in self.keys]) if key else 0
        alone = key in self.keys
        found: Features = {"alone": float(alone), "again": min(again, OFTEN) - 1.0}
        box, page, text = seen["box"], seen["page"], seen["text"] or ""
        own = box and next((one.text for one in self.texts if one.holds(page, box)), None)
        start = own.find(text) if own and text else -1
        if not own or start < 0:
            return found | {"rewritten": 1.0}
        rest = own[start + len(text) :].strip()
        if kind == "number":
            return found | {"cut": float(_goes_on(own[start + len(text) :]))}
        more = float(any(_may_be_rest(one, page, box) for one in self.texts))
        return found | {"followed": float(bool(rest.strip(" .,;:"))), "continued": more}


def _may_be_rest(one: PlacedText, page: int, box: Sequence[float]) -> bool:
    """Whether a line right under a name, at its left edge, may be more of it."""
    level = one.page == page and abs(one.box[0] - box[0]) < NEAR
    if not level or not -NEAR < one.box[1] - box[3] < one.box[3] - one.box[1]:
        return False
    plain = not any(map(str.isdigit, one.text))
    return plain and is_name(one.text) and not is_place(one.text)


def _is_variant(key: str, stem: str, other: str) -> bool:
    """Whether another text is the name with something less or more at its end."""
    return other != key and (
        other == stem or (other.startswith(stem) and len(other) < 2 * len(key))
    )


def _goes_on(rest: str) -> bool:
    """Whether what stands behind a number may be more of it; a day may stand there."""
    if not _GOES_ON.match(rest.strip()):
        return False
    return not find_dates(rest) and not lexicon.OF_DAY.fullmatch(rest.strip())


def _begins_with(known: Container[str], text: str) -> bool:
    words = text.split()
    return any(squeeze(" ".join(words[:count])) in known for count in range(1, 5))


def _describe_sums(data: InvoiceJson) -> Features:
    checks: Mapping[str, str] = data["checks"]
    taxed = bool(parse_number(value_at(data, "totals.tax")))
    return {
        "closed": float(checks["net_tax_gross"] == HELD and taxed),
        "open": float(checks["net_tax_gross"] == BROKEN),
        "lines_fit": float(checks["lines_net"] == HELD),
        "lines_open": float(checks["lines_net"] == BROKEN),
        "rate_fits": float(checks["tax_base_rate"] == HELD),
        "no_lines": float(not lines_of(data)),
    }


def _describe_number(value: str) -> Features:
    return {
        "short": float(len(value) < 4),
        "digits": float(value.isdigit()),
        "amount": float(bool(_AMOUNT.fullmatch(value))),
        "year": float(bool(_YEAR.fullmatch(value))),
        "long": float(len(value) > 20),
    }


def _describe_name(data: InvoiceJson, path: str, value: str) -> Features:
    group = path.partition(".")[0]
    other = str(value_at(data, f"{'buyer' if group == 'seller' else 'seller'}.name") or "")
    words = len(value.split())
    return {
        "form": float(bool(COMPANY.search(value))),
        "other_form": float(bool(COMPANY.search(other))),
        "figures": float(any(char.isdigit() for char in value)),
        "one_word": float(words == 1),
        "many_words": float(words > 5),
        "odd": float(bool(_ODD_IN_NAMES.search(value))),
        "tax_id": float(bool(value_at(data, f"{group}.tax_id"))),
        "address": float(bool(value_at(data, f"{group}.address"))),
    }


def _describe_date(data: InvoiceJson, value: str) -> Features:
    issued, due = (_parse_date(value_at(data, path)) for path in ("issue_date", "due_date"))
    gap = (due - issued).days if issued and due else None
    return {
        "usual_gap": float(gap is not None and gap in USUAL_GAP),
        "odd_gap": float(gap is not None and gap not in USUAL_GAP),
        "no_gap": float(gap == 0),
        "new_year": float(value.endswith("01-01")),
    }


def _parse_date(value: object) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _describe_total(data: InvoiceJson, value: str) -> Features:
    number, due = parse_number(value), data["checks"]["gross_due"]
    parts = {name: bool(value_at(data, f"totals.{name}")) for name in _PARTS}
    return {
        "nought": float(not number),
        "whole": float(number is not None and number == int(number)),
        "untaxed": float(not parse_number(value_at(data, "totals.tax"))),
        "no_net": float(value_at(data, "totals.net") is None),
        "due_fits": float(due == HELD),
        "due_open": float(due == BROKEN),
        **{name: float(there) for name, there in parts.items()},
    }


_PARTS: Final = ("paid", "withholding", "discounts", "charges")


def _describe_line(data: InvoiceJson, path: str) -> Features:
    index, _ = split_path(path) or (0, "")
    line, outcome = lines_of(data)[index], data["checks"].get(f"lines[{index}].amount")
    names = ("amount", "quantity", "unit_price")
    amount, quantity, price = (parse_number(line.get(name)) for name in names)
    return {
        "line_fits": float(outcome == HELD),
        "line_open": float(outcome == BROKEN),
        "nought": float(not amount),
        "negative": float(amount is not None and amount < 0),
        "swapped": float(_is_swapped(quantity, price)),
        "single": float(quantity == 1),
        "wordless": float(not line.get("description")),
    }


def _is_swapped(quantity: Decimal | None, price: Decimal | None) -> bool:
    """More than a hundred pieces, and more pieces than one of them costs."""
    return quantity is not None and price is not None and quantity > max(price, 100)


def fit_confidence(
    data: dict[str, Any], texts: Sequence[PlacedText], fitted: Calibration
) -> dict[str, Any]:
    """The invoice with the confidence of each value as fitted; what was taught stays as it is."""
    known = Describer.of(data, texts)
    evidence = dict(data["evidence"])
    for path, seen in data["evidence"].items():
        field = name_field(path)
        if field in KINDS and "learned" not in seen and seen["page"]:
            sure = fitted.estimate(KINDS[field], field, known.describe(path))
            evidence[path] = {**seen, "confidence": min(sure, known.find_limit(path))}
    for path, sure in _list_followers(data, evidence):
        evidence[path] = {**evidence[path], "confidence": sure}
    return {**data, "evidence": evidence}


def weigh_confidence(
    data: dict[str, Any], rules: InvoiceJson, fitted: InvoiceJson
) -> dict[str, Any]:
    """What a model says beside the rules, held against how sure the rules are as fitted.

    `data` has the word of both: where it made a value of the rules surer, half of what is left of
    its doubt goes; where it made it less sure, or the value is the model's, it counts as it is.
    """
    evidence = dict(data["evidence"])
    for path, seen in data["evidence"].items():
        before = rules["evidence"].get(path)
        if before is None or value_at(data, path) != value_at(rules, path):
            continue
        sure, after = fitted["evidence"][path]["confidence"], seen["confidence"]
        if after > before["confidence"]:
            sure = max(sure, min(1 - (1 - sure) / 2, MOST_AGREED))
        elif after < before["confidence"]:
            sure = min(sure, after)
        evidence[path] = {**seen, "confidence": sure}
    return {**data, "evidence": evidence}


def fit_absences(
    data: InvoiceJson, texts: Sequence[PlacedText], fitted: Calibration
) -> dict[str, float]:
    """How sure it is that what was not found is not there, by path."""
    absent = [path for path in OPTIONAL if value_at(data, path) is None]
    if not absent:
        return {}
    known = Describer.of(data, texts)
    return {
        path: fitted.estimate("absent", f"no {path}", known.describe_absence(path))
        for path in absent
    }


def _list_followers(data: InvoiceJson, evidence: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Values that a sum which adds up ties to one that was fitted: they are as sure as that."""
    gross: Any = evidence.get("totals.gross")
    tied = ("due", "paid", "withholding") if data["checks"]["gross_due"] == HELD else ()
    for path in (f"totals.{name}" for name in tied):
        if gross and path in evidence:
            yield path, gross["confidence"]
    for index in range(len(lines_of(data))):
        discount, amount = f"lines[{index}].discount", evidence.get(f"lines[{index}].amount")
        if discount in evidence and amount and data["checks"].get(amount_rule(index)) == HELD:
            yield discount, amount["confidence"]


def amount_rule(index: int) -> str:
    """The name of the rule that quantity times price is the amount."""
    return f"lines[{index}].amount"
