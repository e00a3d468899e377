"""Weights and tables of confidence, fitted on some layouts and scored on others.

A logistic over a value's features is fitted by kind of field. The table of a field, text and scans
apart, then says what its predictions are worth on layouts that the logistic has not seen.
"""

import hashlib
import math
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from docmill.core.calibration import SCANNED, TEXT, Calibration, name_table

FOLDS: Final = 8
RIDGE: Final = 1.0
RIDGE_OF_FIELDS: Final = 0.15
STEP: Final = 1e-4  # of a weight: steps below end a fit
EXPECTED: Final = {  # what a feature weighs where documents say nothing
    "score": 1.0,
    "fits": 0.3,
    "clean": 0.5,
    "closed": 0.5,
    "lines_fit": 0.5,
    "line_fits": 0.5,
    "open": -1.0,
    "lines_open": -1.0,
    "line_open": -2.0,
    "due_open": -0.5,
    "unfit": -1.0,
    "fit net": -1.0,
    "fit contract": -0.5,
    "converted": -0.3,
    "settled_far": -0.5,
    "near_days": -0.3,
    "currencies": -0.3,
    "unprinted": -0.5,
    "other_side": -0.5,
    "securities": -0.3,
    "least": 0.3,
    "nought": -1.0,
    "swapped": -2.0,
    "wordless": -0.5,
    "cut": -4.0,
    "short": -1.0,
    "amount": -1.5,
    "year": -1.0,
    "followed": -2.0,
    "continued": -1.0,
    "rewritten": -0.5,
    "odd": -1.5,
    "figures": -0.5,
    "linked": 0.5,
    "varied": -0.5,
    "rivals": -0.5,
    "terms_fit": 0.5,
    "odd_gap": -1.0,
    "new_year": -1.0,
    "named": 1.0,
    "unnamed_day": -2.0,
    "weekend": -1.0,
    "due_word": -1.5,
    "later_day": -0.5,
    "tax_word": -1.0,
    "scanned": -0.5,
}
EXPECTED_OF_FIELDS: Final = 1.5
CAUTION: Final = 0.5  # wrong values that may be just beyond those seen
LEVEL: Final = 2.0
LEAST_SLOPE: Final = 0.3
NARROW: Final = 0.0005
SURE: Final = 0.9
MEANT: Final = 0.97  # of the values that are called sure, by the lower bound of what was seen
BOUND: Final = 0.5  # standard errors below what was seen: about 7 of 10 such bounds hold
UNSURE: Final = 0.89
ENOUGH: Final = 0.3  # of a field's values: if fewer could be called sure, none is
NEVER: Final = 20.0
REAL: Final = 0.5  # the least weight of a document that nobody here has made
KNOTS: Final = (-6.0, -4.0, -3.0, -2.0, -1.0, -0.5, *(0.5 * at for at in range(21)))
CLUSTER: Final = 0.7  # values of one field in one document are wrong together
FEW: Final = 60  # scanned values of a field: with fewer, those of its kind stand in

Array = Any


@dataclass(frozen=True, slots=True)
class FitRow:
    """A value, or the lack of one, with its truth."""

    set: str
    group: str
    document: str
    path: str
    field: str
    kind: str
    features: Mapping[str, float]
    right: bool
    weight: float = 1.0
    held: bool = True
    score: float = 0.0
    limit: float = 1.0  # what the value is never surer than, whatever the fit says

    @property
    def fold(self) -> int:
        return int(hashlib.sha256(self.group.encode()).hexdigest(), 16) % FOLDS


@dataclass(frozen=True, slots=True)
class DocumentTruth:
    """How many values of a document are wrong or missing; clean: nothing in it is surely wrong."""

    clean: bool
    wrong: int
    count: int
    set: str = ""
    held: bool = False


@dataclass(frozen=True, slots=True)
class KindRows:
    """The rows of one kind of field as a matrix; `at`: their places among all rows."""

    at: Array
    names: Sequence[str]
    table: Array


@dataclass(frozen=True, slots=True)
class Sample:
    """All rows in arrays, made once: fits on parts of them take what they need."""

    rows: Sequence[FitRow]
    counts: Array
    folds: Array
    right: Array
    kinds: Mapping[str, KindRows]

    @classmethod
    def of(cls, rows: Sequence[FitRow]) -> "Sample":
        places: dict[str, list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            places[row.kind].append(at)
        kinds = {kind: _make_kind(rows, at) for kind, at in sorted(places.items())}
        folds = {row.group: row.fold for row in rows}
        return cls(
            rows,
            np.array(weigh_rows(rows)),
            np.array([folds[row.group] for row in rows]),
            np.array([row.right for row in rows], float),
            kinds,
        )

    def find_folds(self, inside: Array) -> list[int]:
        return sorted(set(self.folds[inside].tolist()))


def weigh_rows(rows: Sequence[FitRow]) -> list[float]:
    """A document with many lines, or a layout with many documents, says little more than one."""
    alike = Counter((row.document, row.field) for row in rows)
    layouts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        layouts[row.set, row.group].add(row.document)
    return [
        row.weight
        * alike[row.document, row.field] ** -CLUSTER
        * len(layouts[row.set, row.group]) ** -0.5
        for row in rows
    ]


def _make_kind(rows: Sequence[FitRow], at: Sequence[int]) -> KindRows:
    inside = [rows[each] for each in at]
    fields = sorted({row.field for row in inside})
    own = [f"is:{field}" for field in fields]
    names = [
        *own,
        *sorted({name for row in inside for name in row.features}),
        *(f"score:{field}" for field in fields[1:]),
    ]
    columns = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(inside), len(names)))
    for index, row in enumerate(inside):
        table[index, columns[f"is:{row.field}"]] = 1
        if (score := columns.get(f"score:{row.field}")) is not None:
            table[index, score] = row.features["score"]
        for name, value in row.features.items():
            table[index, columns[name]] = value
    return KindRows(np.array(at), names, table)


def fit_weights(kind: KindRows, right: Array, counts: Array) -> dict[str, float]:
    """The logistic of one kind of field, by Newton's steps; rows that count nothing have no say."""
    own = [name.startswith("is:") for name in kind.names]
    expected = np.array(
        [EXPECTED_OF_FIELDS if is_field else EXPECTED.get(name, 0.0)
         for name, is_field in zip(kind.names, own, strict=True)]
    )  # fmt: skip
    ridge = np.array([RIDGE_OF_FIELDS if is_field else RIDGE for is_field in own])
    table, found = kind.table, expected.copy()
    for _ in range(50):
        likely = 1 / (1 + np.exp(-np.clip(table @ found, -30, 30)))
        slope = table.T @ (counts * (right - likely)) - ridge * (found - expected)
        bend = (table * (counts * likely * (1 - likely))[:, None]).T @ table + np.diag(ridge)
        step = np.clip(np.linalg.solve(bend, slope), -2, 2)
        found = found + step
        if abs(step).max() < STEP:
            break
    return {name: round(float(value), 4) for name, value in zip(kind.names, found, strict=True)}


def fit(
    sample: Sample, documents: Mapping[str, DocumentTruth], inside: Array | None = None
) -> Calibration:
    """Weights of all rows (or of those `inside`); tables of predictions for rows left out of them.

    Documents that were made here are easy: they teach weights, and have no say in the tables.
    """
    known = np.ones(len(sample.rows), bool) if inside is None else inside
    outside = np.zeros(len(sample.rows))
    for fold in sample.find_folds(known):
        left_out = known & (sample.folds == fold)
        outside[left_out] = predict(sample, _fit_kinds(sample, known & ~left_out))[left_out]
    pairs = [(sample.rows[at], float(outside[at])) for at in np.flatnonzero(known)]
    tables = make_tables([pair for pair in pairs if pair[0].weight >= REAL])
    fitted = Calibration(_fit_kinds(sample, known), tables, {})
    sure = [(row, min(fitted.level(row.field, row.features, at), row.limit)) for row, at in pairs]
    media = {row.document: bool(row.features[SCANNED]) for row, _ in pairs}
    curves = {
        name: level_documents([pair for pair in sure if media[pair[0].document] == scan], documents)
        for name, scan in ((TEXT, False), (SCANNED, True))
    }
    return replace(fitted, documents=curves)


def _fit_kinds(sample: Sample, known: Array) -> dict[str, dict[str, float]]:
    return {
        name: fit_weights(
            KindRows(kind.at[chosen], kind.names, kind.table[chosen]),
            sample.right[kind.at[chosen]],
            sample.counts[kind.at[chosen]],
        )
        for name, kind in sample.kinds.items()
        for chosen in [known[kind.at]]
    }


def predict(sample: Sample, weights: Mapping[str, Mapping[str, float]]) -> Array:
    """The log odds of every row by these weights."""
    found = np.zeros(len(sample.rows))
    for name, kind in sample.kinds.items():
        found[kind.at] = kind.table @ np.array([weights[name][each] for each in kind.names])
    return found


def level_documents(
    found: Sequence[tuple[FitRow, float]], documents: Mapping[str, DocumentTruth]
) -> list[tuple[float, float]]:
    """From what the values of a document let expect to what share of it was wrong, as knots."""
    values: dict[str, list[float]] = defaultdict(list)
    weights = {row.document: row.weight for row, _ in found}
    for row, sure in found:
        values[row.document].append(1 - sure)
    points: list[tuple[float, float, float]] = []
    for name, sures in values.items():
        truth = documents[name]
        if truth.clean and weights[name] >= REAL:
            weight = weights[name]
            expected = sum(sures) / len(sures)
            points.append((expected, weight * truth.wrong, weight * truth.count))
    return _accumulate(sorted(points))


def _accumulate(points: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """By what documents let expect: the share of wrong values in all that are as sure or surer."""
    wrong, count = CAUTION, 0.0
    shares: list[tuple[float, float]] = []
    for expected, some, many in points:
        wrong, count = wrong + some, count + many
        shares.append((expected, wrong / count))
    lowest = 1.0
    found: list[tuple[float, float]] = [(1.0, 1.0)]
    for expected, share in reversed(shares):
        lowest = min(lowest, share)
        if found[-1][0] - expected > NARROW:
            found.append((round(expected, 5), round(lowest, 5)))
    return found[::-1]


def make_tables(outside: Sequence[tuple[FitRow, float]]) -> dict[str, list[tuple[float, float]]]:
    counts = weigh_rows([row for row, _ in outside])
    points: dict[str, list[tuple[float, bool, float]]] = defaultdict(list)
    by_kind: dict[str, list[tuple[float, bool, float]]] = defaultdict(list)
    kinds: dict[str, str] = {}
    for (row, at), count in zip(outside, counts, strict=True):
        name = name_table(row.field, row.features)
        points[name].append((at, row.right, count))
        if row.features.get(SCANNED):
            by_kind[row.kind].append((at, row.right, count))
        kinds[name] = row.kind
    return {
        name: level_points(by_kind[kinds[name]] if _is_thin(name, points[name]) else points[name])
        for name in sorted(points)
    }


def _is_thin(name: str, points: Sequence[Any]) -> bool:
    return name.endswith(SCANNED) and len(points) < FEW


def level_points(points: Sequence[tuple[float, bool, float]]) -> list[tuple[float, float]]:
    """The curve from predicted log odds to the share of right ones, as knots (Platt).

    Where few values were seen it stays near the prediction. It never gets nearer to 1 than the
    number of values allows to say.
    """
    shift, slope = _fit_line(points, LEVEL)
    counts = np.array([count for _, _, count in points])
    highest = 1 - CAUTION / (counts.sum() + 1)
    sure_from = _find_sure(points)
    knots: list[tuple[float, float]] = []
    for at in sorted({*KNOTS, sure_from - 0.01, sure_from}):
        share = min(highest, 1 / (1 + math.exp(-shift - slope * at)))
        knots.append((round(at, 2), round(share if at >= sure_from else min(share, UNSURE), 4)))
    return knots


def _find_sure(points: Sequence[tuple[float, bool, float]]) -> float:
    """From which prediction on enough values are right to call all of them sure.

    Few layouts say little: what counts is how many are right at least, by Wilson's bound.
    """
    right, count, found = 0.0, 0.0, NEVER
    total = sum(weight for *_, weight in points)
    for at, is_right, weight in sorted(points, reverse=True):
        right, count = right + is_right * weight, count + weight
        if bound_share(right, count) >= MEANT and count >= ENOUGH * total:
            found = min(found, at)
    return round(found, 2)


def bound_share(right: float, count: float) -> float:
    """The lower bound of a share of which so many were seen (Wilson's)."""
    share, some = right / count, BOUND**2 / count
    spread = math.sqrt(share * (1 - share) / count + some / (4 * count))
    return (share + some / 2 - BOUND * spread) / (1 + some)


def _fit_line(points: Sequence[tuple[float, float, float]], ridge: float) -> tuple[float, float]:
    """Shift and slope of log odds under which shares at places are likeliest, near 0 and 1."""
    places, shares, counts = (np.array(part, float) for part in zip(*points, strict=True))
    shift, slope = 0.0, 1.0
    for _ in range(50):
        likely = 1 / (1 + np.exp(-np.clip(shift + slope * places, -30, 30)))
        rest, spread = counts * (shares - likely), counts * likely * (1 - likely)
        pull = np.array([rest.sum() - ridge * shift, rest @ places - ridge * (slope - 1)])
        bend = np.array(
            [[spread.sum() + ridge, spread @ places],
             [spread @ places, spread @ places**2 + ridge]]
        )  # fmt: skip
        step = np.clip(np.linalg.solve(bend, pull), -1, 1)
        shift, slope = shift + step[0], max(slope + step[1], LEAST_SLOPE)
    return float(shift), float(slope)


def cross_validate(
    sample: Sample, documents: Mapping[str, DocumentTruth]
) -> tuple[list[tuple[FitRow, float]], dict[str, float]]:
    """Each row with the confidence it gets when its layout was never looked at.

    And of each document the share of wrong values to expect.
    """
    folds = sample.find_folds(np.ones(len(sample.rows), bool))
    context = multiprocessing.get_context("fork")  # the sample is there in each without a copy
    with context.Pool(2, _share, (sample, documents)) as pool:
        parts = pool.map(_score_fold, folds, chunksize=1)
    found = [(sample.rows[at], sure) for pairs, _ in parts for at, sure in pairs]
    return found, {name: share for _, shares in parts for name, share in shares.items()}


_SHARED: list[tuple[Sample, Mapping[str, DocumentTruth]]] = []


def _share(sample: Sample, documents: Mapping[str, DocumentTruth]) -> None:
    _SHARED.append((sample, documents))


def _score_fold(fold: int) -> tuple[list[tuple[int, float]], dict[str, float]]:
    """How sure the rows of a fold are by a fit on all others, and what its documents let expect."""
    sample, documents = _SHARED[0]
    fitted = fit(sample, documents, sample.folds != fold)
    places = np.flatnonzero(sample.folds == fold).tolist()
    found = [(at, estimate(fitted, sample.rows[at])) for at in places]
    values: dict[str, list[float]] = defaultdict(list)
    scans: set[str] = set()
    for at, sure in found:
        row = sample.rows[at]
        values[row.document].append(1 - sure)
        if row.features[SCANNED]:
            scans.add(row.document)
    expected = {
        name: fitted.expect(sum(shares) / len(shares), scanned=name in scans)
        for name, shares in values.items()
    }
    return found, expected


def estimate(fitted: Calibration, row: FitRow) -> float:
    return min(fitted.estimate(row.kind, row.field, row.features), row.limit)
