"""Fits the weights by which seller and buyer are told apart, and says what they bring.

python -m eval.fit_parties [--write]

The documents are the shared invoices with their truth, and those of made suppliers and billers.
Each page is there once more with labels of buyers that nobody knows (`eval.hidden_labels`); such
pages count less. First each layout is scored with weights that were fitted without it, in six
parts. The closed pages of `eval.billers` are never fitted on. `--write` keeps the weights of all
others with where they come from.
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Tools
from docmill.invoices.reader import detect_notation, lexicon, read_pages
from docmill.invoices.reader.layout import make_sheet
from docmill.invoices.reader.lines import count_proven, find_bare_lines, find_lines
from docmill.invoices.reader.parties import choose_by_rules, choose_parties, collect_names
from docmill.invoices.reader.ranking import (
    BUYER,
    PAIR,
    SELLER,
    NameSources,
    RankedParty,
    list_parties,
    load_weights,
    pair_features,
)
from docmill.reading.documents import open_document
from docmill.reading.labels import find_phrases
from docmill.reading.pages import Page
from docmill.reading.turning import set_upright
from eval.billers import is_held
from eval.heads import make_head
from eval.hidden_labels import hide_labels
from eval.readings import make_set

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
FOLDERS: Final = ("invoices", "invoices_id", "invoices_more")
MADE_SETS: Final = ("suppliers", "billers")
WEIGHTS: Final = Path(__file__).parents[1] / "src/docmill/invoices/reader/parties.json"
STEPS: Final = 500
RATE: Final = 0.05
RIDGE: Final = 0.002
PARTS: Final = 6
MADE: Final = 160  # heads made at random
HIDDEN: Final = 0.1  # what a page counts whose labels nobody knows
REAL: Final = 6.0  # what one counts that nobody here made
MISSED: Final = 0.5  # what a document counts whose names no rule has found
EXPECTED: Final = {  # what labels say by their words, where too few documents show it
    "seller.sold_by": 2.0,
    "seller.billed_to": -2.0,
    "seller.holder": 1.0,
    "seller.paid": 1.0,
    "seller.paying": -1.0,
    "seller.imprint": 0.3,
    "seller.branded": 0.5,
    "seller.greeted": -1.0,
    "seller.known": 0.5,
    "seller.rule": 3.0,
    "seller.form": 0.5,
    "buyer.sold_by": -2.0,
    "buyer.billed_to": 2.0,
    "buyer.holder": -2.0,
    "buyer.paid": -1.0,
    "buyer.paying": 1.0,
    "buyer.imprint": -1.0,
    "buyer.greeted": 1.0,
    "buyer.known": -1.0,
    "buyer.rule": 3.0,
    "pair.rung": 1.0,
    "pair.left": 0.5,
    "pair.above": 0.5,
    "pair.inside": -1.0,
}
BINS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, 1.01)


@dataclass(frozen=True, slots=True)
class PartyDocument:
    """The names of a document, those that are right, and the layout it has."""

    folder: str
    group: str
    sources: NameSources
    seller: frozenset[str]
    buyer: frozenset[str]
    hidden: bool = False  # with labels that nobody knows

    @property
    def title(self) -> str:
        """What the scores call its set."""
        return f"{self.folder}, hidden" if self.hidden else self.folder

    @property
    def worth(self) -> float:
        """What it counts in a fit, if its layout has no other."""
        return (HIDDEN if self.hidden else 1.0) * (REAL if self.folder in FOLDERS else 1.0)

    @property
    def held(self) -> bool:
        """Whether it is one that is only scored."""
        return self.folder == "billers" and is_held(self.group)

    @property
    def part(self) -> int:
        """Which part its layout belongs to."""
        return hashlib.sha1(f"{self.folder}/{self.group}".encode()).digest()[0] % PARTS


@dataclass(frozen=True, slots=True)
class PairTable:
    """All pairs of some documents as rows of features, which are right, and what each counts."""

    features: np.ndarray
    right: np.ndarray
    starts: np.ndarray  # the first row of each document
    weights: np.ndarray  # of each row

    @property
    def counts(self) -> np.ndarray:
        """How many rows each document has."""
        return np.diff(self.starts, append=len(self.right))


def normalize(text: str | None) -> str:
    """A name as the scorer compares it."""
    plain = unicodedata.normalize("NFKD", text or "").lower()
    return "".join(char for char in plain if char.isalnum())


def read_documents() -> list[PartyDocument]:
    """The shared invoices that can be read, and those of made suppliers."""
    folders = {name: make_set(name) for name in MADE_SETS}
    folders |= {name: CORPUS / name for name in FOLDERS}
    work = [
        (name, record, folder / record["file"])
        for name, folder in folders.items()
        for record in json.loads((folder / "truth.json").read_text())
    ]
    with multiprocessing.Pool(2) as pool:
        return [document for both in pool.starmap(_read_document, work) for document in both]


def _read_document(name: str, record: dict[str, Any], path: Path) -> list[PartyDocument]:
    """A document, and once more with labels that nobody knows."""
    pages = _read_upright(path)
    if not pages:
        return []
    plain = _make_document(name, record, _names_on(pages))
    hidden = hide_labels(pages, path.name, plain.seller | plain.buyer)
    if not hidden:
        return [plain]
    return [plain, replace(plain, sources=_names_on(hidden), hidden=True)]


def make_documents(count: int) -> list[PartyDocument]:
    """Heads made at random, to fit on beside the real ones."""
    found: list[PartyDocument] = []
    for seed in range(count):
        head = make_head(Random(seed))
        sources = _names_on([head.page])
        names = (frozenset({normalize(head.seller)}), frozenset({normalize(head.buyer)}))
        found.append(PartyDocument("made", head.layout, sources, *names))
    return found


def _make_document(folder: str, record: dict[str, Any], sources: NameSources) -> PartyDocument:
    alts: dict[str, list[str]] = record.get("alts") or {}
    names = [
        frozenset(normalize(text) for text in (record["truth"][field], *alts.get(field, ())))
        for field in ("seller_name", "buyer_name")
    ]
    group = record.get("vendor") or record["group"]
    return PartyDocument(folder, group, sources, names[0] - {""}, names[1] - {""})


def _read_upright(path: Path) -> list[Page]:
    """The pages of a document; none where it cannot be read."""
    tools = Tools(progress=lambda _percent, _stage: None)
    try:
        with open_document(io.BytesIO(path.read_bytes()), PDF, tools) as document:
            pages = read_pages(document, tools)
    except DocmillError:
        return []
    return [set_upright(page) for page in pages]


def _names_on(pages: Sequence[Page]) -> NameSources:
    sheet = detect_notation(make_sheet(pages))
    table = max(find_lines(sheet), find_bare_lines(sheet), key=count_proven)
    return collect_names(sheet, find_phrases(sheet, lexicon.LABELS), table.rows)


def _right(party: RankedParty, names: frozenset[str], known: bool) -> bool:
    if not names:
        return True
    if not party.name:
        return not known
    return normalize(party.name.text) in names


def _make_table(document: PartyDocument, names: Sequence[str], weight: float) -> PairTable:
    at = {name: index for index, name in enumerate(names)}
    sellers = list_parties(document.sources, SELLER)
    buyers = list_parties(document.sources, BUYER)
    known = [
        any(party.name and normalize(party.name.text) in right for party in parties)
        for parties, right in ((sellers, document.seller), (buyers, document.buyer))
    ]
    rows: list[np.ndarray] = []
    right: list[bool] = []
    for own in sellers:
        for theirs in buyers:
            if own.key == theirs.key and own.key:
                continue
            row = np.zeros(len(names), np.float32)
            for role, values in (
                (SELLER, own.features),
                (BUYER, theirs.features),
                (PAIR, pair_features(own, theirs)),
            ):
                for name, value in values.items():
                    row[at[f"{role}.{name}"]] = value
            rows.append(row)
            fits = _right(own, document.seller, known[0])
            right.append(fits and _right(theirs, document.buyer, known[1]))
    missed = (document.seller and not known[0]) or (document.buyer and not known[1])
    worth = weight * (MISSED if missed else 1.0)
    return PairTable(np.array(rows), np.array(right), np.array([0]), np.full(len(rows), worth))


def _feature_names(documents: Sequence[PartyDocument]) -> list[str]:
    names: dict[str, None] = {}
    for document in documents:
        sellers = list_parties(document.sources, SELLER)
        buyers = list_parties(document.sources, BUYER)
        for role, parties in ((SELLER, sellers), (BUYER, buyers)):
            names |= {f"{role}.{name}": None for party in parties for name in party.features}
        pairs = (pair_features(own, theirs) for own in sellers for theirs in buyers)
        names |= {f"{PAIR}.{name}": None for pair in pairs for name in pair}
    return sorted(names)


def make_tables(documents: Sequence[PartyDocument], names: Sequence[str]) -> list[PairTable]:
    """Each document's pairs; where a layout has many documents each counts less."""
    sizes = Counter((item.title, item.group) for item in documents)
    return [
        _make_table(item, names, item.worth * sizes[item.title, item.group] ** -0.5)
        for item in documents
    ]


def _stack(tables: Sequence[PairTable]) -> PairTable:
    tables = [table for table in tables if table.right.any()]
    starts = np.cumsum([0, *(len(table.right) for table in tables)])[:-1]
    return PairTable(
        np.concatenate([table.features for table in tables]),
        np.concatenate([table.right for table in tables]),
        starts,
        np.concatenate([table.weights for table in tables]),
    )


def fit(tables: Sequence[PairTable], names: Sequence[str]) -> dict[str, float]:
    """The weights under which the right pairs are likeliest, kept small."""
    table = _stack(tables)
    expected = np.array([EXPECTED.get(name, 0.0) for name in names])
    weights, first, second = expected.copy(), np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, STEPS + 1):
        slope = RIDGE * (weights - expected) * len(table.starts) - _slope(table, weights)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        weights = weights - RATE * move
    return {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)}


def _slope(table: PairTable, weights: np.ndarray) -> np.ndarray:
    """The right pairs' features less those of all, each as likely as the weights make it."""
    scores = table.features @ weights.astype(np.float32)
    every = _share(scores, table)
    among = _share(np.where(table.right, scores, -np.inf), table)
    return ((among - every) * table.weights).astype(np.float32) @ table.features


def _share(scores: np.ndarray, table: PairTable) -> np.ndarray:
    """Each pair's share among those of its document."""
    best = np.maximum.reduceat(scores, table.starts)
    shares = np.exp(scores - np.repeat(best, table.counts))
    return shares / np.repeat(np.add.reduceat(shares, table.starts), table.counts)


def _score(pairs: Iterable[tuple[PartyDocument, dict[str, float] | None]]) -> None:
    """Right names by folder, and how far confidence can be believed."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    sure: Counter[tuple[str, float, bool]] = Counter()
    for item, weights in pairs:
        chosen = choose_parties(item.sources, weights) if weights else choose_by_rules(item.sources)
        for role, names, value in zip(
            (SELLER, BUYER), (item.seller, item.buyer), chosen, strict=True
        ):
            if names:
                right = value is not None and normalize(value.value) in names
                counts[item.title, role, right] += 1
                level = max(low for low in BINS if (value and value.confidence >= low) or not low)
                sure[role, level, right] += 1
    for folder, role in sorted({(folder, role) for folder, role, _ in counts}):
        good, bad = counts[folder, role, True], counts[folder, role, False]
        print(
            f"  {folder:21} {role:7} {good:3} of {good + bad:3}  {100 * good / (good + bad):5.1f} %"
        )
    for role, low in sorted({(role, low) for role, low, _ in sure}):
        good, bad = sure[role, low, True], sure[role, low, False]
        print(f"  {role:7} confidence from {low:.1f}: {good:3} of {good + bad:3}")


def _compare(title: str, pairs: Sequence[tuple[PartyDocument, dict[str, float] | None]]) -> None:
    """The scores of the rules alone and of weights, with those that the reader has."""
    print(f"{title}: {len(pairs)} documents, {len({item.group for item, _ in pairs})} layouts")
    shipped = dict(load_weights())
    print(" rules alone")
    _score([(item, None) for item, _ in pairs])
    print(" weights as they are kept")
    _score([(item, shipped) for item, _ in pairs])
    print(" weights fitted without the layout")
    _score(pairs)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    documents = [*read_documents(), *make_documents(MADE)]
    tuned = [item for item in documents if not item.held]
    names = _feature_names(documents)
    tables = make_tables(tuned, names)
    unseen: list[tuple[PartyDocument, dict[str, float] | None]] = []
    for part in range(PARTS):
        kept = [item.part != part or item.folder == "made" for item in tuned]
        weights = fit([table for table, keep in zip(tables, kept, strict=True) if keep], names)
        unseen += [(item, weights) for item, keep in zip(tuned, kept, strict=True) if not keep]
    weights = fit(tables, names)
    _compare("in six parts", unseen)
    _compare("closed pages", [(item, weights) for item in documents if item.held])
    if asked.write:
        _write(weights, tuned)
    return 0


def _write(weights: dict[str, float], documents: Sequence[PartyDocument]) -> None:
    origin = {
        "made_by": "python -m eval.fit_parties --write",
        "documents": len(documents),
        "layouts": len({item.group for item in documents}),
        "folders": [*FOLDERS, *MADE_SETS],
        "steps": STEPS,
        "ridge": RIDGE,
    }
    kept = {name: value for name, value in weights.items() if value}
    text = json.dumps({"origin": origin, "weights": kept}, indent=1)
    WEIGHTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
