"""How sure a value is: the reader's scores, fitted so that 0.9 means right nine times in ten.

`confidence.tsv` has the curves, made by `python -m eval.fit_confidence`; its head says from what.
A curve is a row of steps for one field, for text and for scans apart. A field without one keeps
its score.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Final

from docmill.invoices.reader.model import Invoice, Values
from docmill.reading.pages import Value

TEXT, SCAN = "text", "scan"
FILE: Final = "confidence.tsv"

# Steps of one curve, rising: from this score on, so often right.
Curve = tuple[tuple[float, float], ...]
# By field (`totals.net`, `lines.amount`) and kind of page.
Curves = Mapping[tuple[str, str], Curve]


@cache
def load_curves() -> Curves:
    text = (files("docmill.invoices.reader") / FILE).read_text("utf-8")
    steps: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            path, kind, score, right = line.split("\t")
            steps[path, kind].append((float(score), float(right)))
    return {key: tuple(sorted(found)) for key, found in steps.items()}


def fit_confidence(invoice: Invoice, scanned: Collection[int], curves: Curves) -> Invoice:
    """The invoice, each value as sure as values of its field with its score turned out to be."""
    if not curves:
        return invoice

    def fit_part(values: Values, group: str) -> dict[str, Value]:
        return {
            name: _fit_value(value, f"{group}{name}", scanned, curves)
            for name, value in values.items()
        }

    lines = tuple(fit_part(line, "lines.") for line in invoice.lines)
    return replace(invoice, values=fit_part(invoice.values, ""), lines=lines)


def _fit_value(value: Value, path: str, scanned: Collection[int], curves: Curves) -> Value:
    curve = curves.get((path, SCAN if value.page in scanned else TEXT))
    return value.sure(read_curve(curve, value.confidence)) if curve else value


def read_curve(curve: Curve, score: float) -> float:
    """A score below the first step counts as that step."""
    at = bisect_right(curve, (score, 1.0)) - 1
    return curve[max(at, 0)][1]
