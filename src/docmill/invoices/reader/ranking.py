"""Which of the names on a page is the seller's and which the buyer's: a small fitted model.

Every name that a rule has found may be either party. A pair of names is scored by what each is
(company's form, size, place, block, label, what the rules say of it) and by how the two stand to
each other; the weights are fitted by `python -m eval.fit_parties` and kept in `parties.json`.
The share that a name has in the scores of all pairs says how sure it is.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.domains import find_domains, is_known_by
from docmill.invoices.reader.name_kinds import names_firm, names_person
from docmill.invoices.reader.names import (
    AddressBlock,
    PartyName,
    find_row,
    has_contact,
    is_name,
    is_place,
    is_prose,
    is_reached,
    is_taxed,
)
from docmill.invoices.reader.sellers import BANK, is_own
from docmill.reading.labels import TextCell, TextSheet, names_company, squeeze
from docmill.reading.pages import Box

ALIKE: Final = 0.28  # of the worth of a name: what its place on the page adds
POOL: Final = 12  # names of each role that are compared
SELLER: Final = "seller"
BUYER: Final = "buyer"
PAIR: Final = "pair"
NOBODY: Final = "nobody"
LEVEL: Final = 0.03  # of the page: what lies nearer stands side by side
TOP: Final = 0.12
FOOT: Final = 0.85
LIKELY: Final = 0.15  # the least share of a name that is worth showing
LONG: Final = 60  # characters: no line of an address is longer
LARGE: Final = 1.25  # of the usual height of letters
HEAD: Final = 0.25  # of the page: where a brand stands
_MONEY: Final = re.compile(  # an amount, with or without a currency
    r"\W{0,3}(?:[A-Z]{2,3})?\W{0,2}\d[\d.,' ]*[.,]\d{2}\D{0,4}"
)
GREETING: Final = lexicon.printed_pattern("greeting", "", r"\b")

Features = dict[str, float]
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NameSources:
    """The names of a page by the rule that found them."""

    sheet: TextSheet
    blocks: Sequence[AddressBlock]
    sellers: Sequence[PartyName]
    buyers: Sequence[PartyName]
    sold_by: frozenset[str]  # keys of names under a label
    billed_to: frozenset[str]
    holders: frozenset[str]
    paying: frozenset[str] = frozenset()  # named under the table as who pays: a slip to tear off
    paid: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RankedParty:
    """A name as one of the parties, what speaks for it, and where it stands."""

    key: str
    name: PartyName | None
    features: Features
    box: Box | None = None
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class RankedPair:
    """The likeliest seller and buyer with how sure each is."""

    seller: PartyName | None
    buyer: PartyName | None
    seller_share: float
    buyer_share: float


@cache
def load_weights() -> Weights:
    """The fitted weights, by role and feature."""
    text = (files("docmill.invoices.reader") / "parties.json").read_text("utf-8")
    return json.loads(text)["weights"]


def rank_parties(sources: NameSources, weights: Weights) -> RankedPair:
    """The pair of two different names that scores best; nobody only where no name is likely."""
    context = RankingPage.of(sources)
    sellers, buyers = (list_parties(sources, role, context) for role in (SELLER, BUYER))
    worths = {party.key: weigh(BUYER, party.features, weights) for party in buyers}
    scores = {
        (own.key, theirs.key): worth
        + worths[theirs.key]
        + weigh(PAIR, pair_features(own, theirs), weights)
        for own, worth in ((own, weigh(SELLER, own.features, weights)) for own in sellers)
        for theirs in buyers
        if own.key != theirs.key or not own.key
    }
    top = max(scores.values())
    shares = {pair: math.exp(score - top) for pair, score in scores.items()}
    whole = sum(shares.values())
    best = max(shares, key=lambda pair: (shares[pair], pair))
    chosen: list[tuple[PartyName | None, float]] = []
    for side, parties in enumerate((sellers, buyers)):
        own = {party.key: 0.0 for party in parties}
        for pair, share in shares.items():
            own[pair[side]] += share / whole
        other = chosen[0][0] if chosen else None
        key = best[side] or _likeliest(own, squeeze(other.text) if other else best[1 - side])
        chosen.append((next(party.name for party in parties if party.key == key), own[key]))
    return RankedPair(chosen[0][0], chosen[1][0], chosen[0][1], chosen[1][1])


def _likeliest(shares: Mapping[str, float], taken: str) -> str:
    """The likeliest name that is not the other party's; nobody's where it is hardly one."""
    left = {key: share for key, share in shares.items() if key and key != taken}
    key = max(left, key=lambda key: (left[key], key), default="")
    return key if key and left[key] >= LIKELY else ""


def weigh(role: str, features: Features, weights: Weights) -> float:
    """What speaks for a name in a role, or for a pair of them, in sum."""
    return sum(
        [weights.get(f"{role}.{name}", 0.0) * value for name, value in features.items() if value]
    )


def list_parties(
    sources: NameSources, role: str, context: "RankingPage | None" = None
) -> list[RankedParty]:
    """The names that may have a role, by key; the last one is nobody."""
    ours, others = (sources.sellers, sources.buyers)
    if role == BUYER:
        ours, others = others, ours
    best, rivals = _best_by_key(ours), _best_by_key(others)
    pool = {**dict(list(rivals.items())[:POOL]), **dict(list(best.items())[:POOL])}
    context = context or RankingPage.of(sources)
    longer = [key for key, name in pool.items() if names_company(name.text)]
    highest = min((_height_of(sources, name) for name in pool.values()), default=0.0)
    parties: list[RankedParty] = []
    for key, name in pool.items():
        y = _height_of(sources, name)
        features = {
            "rule": best[key].score if key in best else 0.0,
            "unruled": float(key not in best),
            "rival": rivals[key].score if key in rivals else 0.0,
            "highest": float(y == highest),
            "shortened": float(any(other != key and other.startswith(key) for other in longer)),
            **_mention_features(context, key, name.text),
            **_label_features(sources, key),
            **_word_features(name.text),
            **_place_features(sources, name),
            **_block_features(sources, name),
        }
        parties.append(RankedParty(key, name, features, name.box, y))
    labelled = sources.sold_by if role == SELLER else sources.billed_to
    nobody = {NOBODY: 1.0, "labelled": float(bool(labelled))}
    return [*parties, RankedParty("", None, nobody)]


def _height_of(sources: NameSources, name: PartyName) -> float:
    return name.box.middle / sources.sheet.height(name.cell.page) + name.cell.page - 1


@dataclass(frozen=True, slots=True)
class RankingPage:
    """The texts of all cells as they are compared, those of addresses, and the web addresses."""

    texts: tuple[str, ...]
    places: tuple[str, ...]
    imprints: tuple[str, ...]
    brands: frozenset[str]
    greetings: tuple[str, ...]
    domains: Mapping[str, float]

    @classmethod
    def of(cls, sources: NameSources) -> "RankingPage":
        sheet = sources.sheet
        cells = [cell for _, _, cell in sheet.cells]
        texts = tuple(squeeze(cell.text) for cell in cells)
        pairs = list(zip(texts, cells, strict=True))
        return cls(
            texts,
            tuple(key for key, cell in pairs if len(cell.text) < LONG and is_place(cell.text)),
            tuple(key for key, cell in pairs if _is_imprint(sheet, cell)),
            frozenset(key for key, cell in pairs if _is_brand(sheet, cell)),
            tuple(key for key, cell in pairs if GREETING.match(cell.text)),
            find_domains(sheet),
        )


def _is_imprint(sheet: TextSheet, cell: TextCell) -> bool:
    """Whether a line at the edge of a page tells more of somebody than a name."""
    y = cell.box.middle / sheet.height(cell.page)
    return (y > FOOT or y < TOP) and len(cell.text) > LONG and is_own(cell.text)


def _is_brand(sheet: TextSheet, cell: TextCell) -> bool:
    """Whether it is a word or two in large letters at the head of the first page."""
    y = cell.box.middle / sheet.height(cell.page)
    large = cell.box.height > LARGE * (sheet.usual_height or cell.box.height)
    return cell.page == 1 and y < HEAD and large and len(cell.text.split()) < 3


def _mention_features(context: RankingPage, key: str, text: str) -> Features:
    known = (worth for domain, worth in context.domains.items() if is_known_by(text, domain))
    return {
        "mentions": min(sum([key in text for text in context.texts]) - 1, 3) / 3,
        "again": max(min(sum(text == key for text in context.texts) - 1, 2), 0) / 2,
        "known": max(known, default=0.0),
        "in_place": float(any(key in place and key != place for place in context.places)),
        "imprint": float(any(imprint.startswith(key) for imprint in context.imprints)),
        "branded": float(any(_is_start(brand, key) for brand in context.brands)),
        "greeted": float(any(key in greeting for greeting in context.greetings)),
    }


def _is_start(brand: str, key: str) -> bool:
    return len(brand) > 3 and brand != key and key.startswith(brand)


def _best_by_key(names: Sequence[PartyName]) -> dict[str, PartyName]:
    """Each name once, where it is supported best; the best supported first.

    Of places that are supported nearly alike the first counts: a hair's breadth decides nothing.
    """
    found: dict[str, PartyName] = {}
    for name in sorted(names, key=lambda name: -name.score):
        key = squeeze(name.text)
        if not key:
            continue
        best = found.setdefault(key, name)
        near = name.score > found[key].score - ALIKE
        if near and (name.cell.page, name.box.y0) < (best.cell.page, best.box.y0 - name.box.height):
            found[key] = replace(name, score=best.score)
    return found


def _label_features(sources: NameSources, key: str) -> Features:
    return {
        "sold_by": float(key in sources.sold_by),
        "billed_to": float(key in sources.billed_to),
        "holder": float(key in sources.holders),
        "paying": float(key in sources.paying),
        "paid": float(key in sources.paid),
    }


def _word_features(text: str) -> Features:
    words = text.split()
    return {
        "form": float(names_company(text)),
        "one_word": float(len(words) == 1),
        "many_words": float(len(words) > 5),
        "capitals": float(text.isupper()),
        "figures": float(any(map(str.isdigit, text))),
        "prose": float(is_prose(text)),
        "firm": float(names_firm(text)),
        "given": float(names_person(text)),
        "person": float(1 < len(words) < 4 and not names_company(text) and text.istitle()),
        "slash": float("/" in text),
        "bank": float(bool(BANK.search(text))),
    }


def _place_features(sources: NameSources, name: PartyName) -> Features:
    sheet, cell = sources.sheet, name.cell
    y = min(cell.box.middle / sheet.height(cell.page), 1.0)
    large = cell.box.height / (sheet.usual_height or cell.box.height or 1.0)
    row = find_row(sheet, cell)
    return {
        "large": min(max(large, 0.7), 2.0) - 1.0,
        "low": y,
        "right": (cell.box.x0 + cell.box.x1) / 2 / sheet.width(cell.page),
        "top": float(y < TOP),
        "foot": float(y > FOOT),
        "later": float(cell.page > 1),
        "crowded": float(row is not None and len(row.cells) > 3),
        "bold": float(all(word.bold for word in cell.words)),
        "priced": float(_is_priced(sources, cell)),
    }


def _block_features(sources: NameSources, name: PartyName) -> Features:
    cell = name.cell
    block = next((one for one in sources.blocks if any(own is cell for own in one.cells)), None)
    if block is None:
        return {"contact": 0.0, "reached": 0.0}
    at = block.cells.index(cell)
    last = name.below if name.below in block.cells else cell
    behind = block.cells[block.cells.index(last) + 1 :]
    rest = "\n".join(other.text for other in block.cells[at:] if "@" not in other.text)
    return {
        "block": 1.0,
        "first": float(at == 0),
        "under_place": float(any(is_place(other.text) for other in block.cells[:at])),
        "over_place": float(bool(behind) and is_place(behind[0].text)),
        "address": float(block.has_address),
        "contact": float(has_contact(rest)),
        "mail": float("@" in block.text),
        "taxed": float(is_taxed(rest)),
        "reached": float(is_reached("\n".join(other.text for other in block.cells[at:]))),
        "bare": float(2 <= len(behind) <= 4 and not _tells_more(rest)),
        **_line_features(block.cells[at - 1] if at else None, behind),
    }


def _line_features(over: TextCell | None, behind: Sequence[TextCell]) -> Features:
    """What the lines around a name say: one that a name stands under may be its label."""
    under, third = (*behind[:2], None, None)[:2]
    heads = under is not None and third is not None and _is_nameable(under)
    return {
        "headed": float(over is not None and _is_nameable(over)),
        "heads": float(heads and third is not None and is_place(third.text)),
    }


def _is_nameable(cell: TextCell) -> bool:
    return is_name(cell.text) and not is_place(cell.text)


def _is_priced(sources: NameSources, cell: TextCell) -> bool:
    """Whether an amount stands beside it, as beside what is sold."""
    row = find_row(sources.sheet, cell)
    behind = row.cells[row.cells.index(cell) + 1 :] if row else ()
    return bool(behind) and _MONEY.fullmatch(behind[0].text) is not None


def _tells_more(text: str) -> bool:
    """Whether lines say more than where somebody lives."""
    return has_contact(text) or is_taxed(text) or ":" in text


def pair_features(own: RankedParty, theirs: RankedParty) -> Features:
    """How a seller and a buyer stand to each other."""
    if not own.box or not theirs.box:
        return {}
    down = theirs.y - own.y
    beside = abs(down) < LEVEL
    left = own.box.x0 < theirs.box.x0
    sizes = own.features["large"] - theirs.features["large"]
    return {
        "above": 0.0 if beside else max(min(down / 0.2, 1.0), -1.0),
        "left": (1.0 if left else -1.0) if beside else 0.0,
        "larger": max(min(sizes, 0.5), -0.5),
        "reached": own.features["contact"] - theirs.features["contact"],
        "rung": own.features["reached"] - theirs.features["reached"],
        "inside": float(own.key in theirs.key or theirs.key in own.key),
        "both_companies": float(own.features["form"] == theirs.features["form"]),
        "near": float(abs(down) < 0.1 and own.name is not None and not beside),
    }
