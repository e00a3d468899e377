"""A study set as an Anki package: a zip with an SQLite collection of schema 11, which all read.

The same set always gives the same bytes, and notes keep their identity: a set imported again brings
its cards up to date instead of doubling them.
"""

import csv
import hashlib
import html
import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

SCHEMA: Final = """
CREATE TABLE col (id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL,
  scm integer NOT NULL, ver integer NOT NULL, dty integer NOT NULL, usn integer NOT NULL,
  ls integer NOT NULL, conf text NOT NULL, models text NOT NULL, decks text NOT NULL,
  dconf text NOT NULL, tags text NOT NULL);
CREATE TABLE notes (id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL,
  mod integer NOT NULL, usn integer NOT NULL, tags text NOT NULL, flds text NOT NULL,
  sfld integer NOT NULL, csum integer NOT NULL, flags integer NOT NULL, data text NOT NULL);
CREATE TABLE cards (id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL,
  ord integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL, type integer NOT NULL,
  queue integer NOT NULL, due integer NOT NULL, ivl integer NOT NULL, factor integer NOT NULL,
  reps integer NOT NULL, lapses integer NOT NULL, left integer NOT NULL, odue integer NOT NULL,
  odid integer NOT NULL, flags integer NOT NULL, data text NOT NULL);
CREATE TABLE revlog (id integer PRIMARY KEY, cid integer NOT NULL, usn integer NOT NULL,
  ease integer NOT NULL, ivl integer NOT NULL, lastIvl integer NOT NULL, factor integer NOT NULL,
  time integer NOT NULL, type integer NOT NULL);
CREATE TABLE graves (usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL);
CREATE INDEX ix_notes_usn ON notes (usn);
CREATE INDEX ix_cards_usn ON cards (usn);
CREATE INDEX ix_revlog_usn ON revlog (usn);
CREATE INDEX ix_cards_nid ON cards (nid);
CREATE INDEX ix_cards_sched ON cards (did, queue, due);
CREATE INDEX ix_revlog_cid ON revlog (cid);
CREATE INDEX ix_notes_csum ON notes (csum);
"""
ADD_COLLECTION: Final = "INSERT INTO col VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
ADD_NOTE: Final = "INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,?,?)"
ADD_CARD: Final = "INSERT INTO cards VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
VERSION: Final = 11
MADE_AT: Final = 1_700_000_000  # no clock: the same set gives the same file
MODEL_ID: Final = 1_700_000_000_001
FIELDS: Final = ("Front", "Back", "Word")
SEPARATOR: Final = "\x1f"
CSS: Final = (
    ".card { font: 20px/1.5 sans-serif; text-align: center; max-width: 40em; margin: 0 auto; }"
)
_TAGS: Final = re.compile(r"<[^>]*>")


def write_anki(data: Mapping[str, Any], title: str) -> bytes:
    deck_id = MODEL_ID + 1 + _hash_number(title) % 10**9
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(SCHEMA)
        base.execute(ADD_COLLECTION, _build_collection(deck_id, title))
        for place, card in enumerate(data["flashcards"], 1):
            note = MADE_AT * 1000 + place
            base.execute(ADD_NOTE, _build_note(note, card))
            values = (note, note, deck_id, 0, MADE_AT, -1, 0, 0, place, *[0] * 8, "")
            base.execute(ADD_CARD, values)
        base.commit()
        collection = base.serialize()
    return _pack({"collection.anki2": collection, "media": b"{}"})


def _pack(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _build_note(note: int, card: Mapping[str, Any]) -> Sequence[Any]:
    fields = [_to_html(card[name]) for name in ("front", "back", "word")]
    plain = _TAGS.sub("", fields[0])
    checksum = int(hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest()[:8], 16)
    texts = SEPARATOR.join(fields)
    return (
        note,
        card["id"],
        MODEL_ID,
        MADE_AT,
        -1,
        f" {card['kind']} ",
        texts,
        plain,
        checksum,
        0,
        "",
    )


def _to_html(text: str) -> str:
    return html.escape(text.replace(SEPARATOR, " "), quote=False).replace("\n", "<br>")


def _hash_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _build_collection(deck_id: int, title: str) -> Sequence[Any]:
    decks = {
        str(each["id"]): each for each in (_build_deck(1, "Default"), _build_deck(deck_id, title))
    }
    settings = {
        "curDeck": deck_id,
        "activeDecks": [deck_id],
        "curModel": str(MODEL_ID),
        "nextPos": 1,
    }
    parts = (
        settings,
        {str(MODEL_ID): _build_model(deck_id)},
        decks,
        {"1": DECK_OPTIONS},
        dict[str, int](),
    )
    return (1, MADE_AT, MADE_AT * 1000, MADE_AT * 1000, VERSION, 0, 0, 0, *map(json.dumps, parts))


def _build_deck(number: int, name: str) -> Mapping[str, Any]:
    today = {f"{kind}Today": [0, 0] for kind in ("new", "rev", "lrn", "time")}
    facts = {"id": number, "name": name, "mod": MADE_AT, "usn": -1, "conf": 1, "dyn": 0, "desc": ""}
    return facts | today | {"collapsed": False, "extendNew": 10, "extendRev": 50}


def _build_model(deck_id: int) -> Mapping[str, Any]:
    template = {
        "name": "Card",
        "ord": 0,
        "qfmt": "{{Front}}",
        "afmt": '{{FrontSide}}<hr id="answer">{{Back}}',
        "bqfmt": "",
        "bafmt": "",
        "did": None,
    }
    fields = [
        {"name": name, "ord": at, "font": "Arial", "size": 20, "rtl": False, "sticky": False}
        | {"media": list[str]()}
        for at, name in enumerate(FIELDS)
    ]
    latex = {"latexPre": "", "latexPost": "", "req": [[0, "any", [0]]], "vers": list[int]()}
    facts = {"id": MODEL_ID, "name": "docmill", "type": 0, "mod": MADE_AT, "usn": -1, "sortf": 0}
    return (
        facts
        | latex
        | {"did": deck_id, "tags": [], "css": CSS, "flds": fields, "tmpls": [template]}
    )


DECK_OPTIONS: Final[Mapping[str, Any]] = {
    "id": 1,
    "name": "Default",
    "mod": 0,
    "usn": 0,
    "maxTaken": 60,
    "autoplay": True,
    "timer": 0,
    "replayq": True,
    "dyn": False,
    "new": {
        "bury": True,
        "delays": [1, 10],
        "initialFactor": 2500,
        "ints": [1, 4, 7],
        "order": 1,
        "perDay": 20,
        "separate": True,
    },
    "rev": {
        "bury": True,
        "ease4": 1.3,
        "fuzz": 0.05,
        "ivlFct": 1,
        "maxIvl": 36500,
        "minSpace": 1,
        "perDay": 100,
    },
    "lapse": {"delays": [10], "leechAction": 0, "leechFails": 8, "minInt": 1, "mult": 0},
}


VOCABULARY_COLUMNS: Final = (
    "word", "partOfSpeech", "level", "definition", "example", "page", "count", "frequency", "forms",
)  # fmt: skip
CARD_COLUMNS: Final = ("front", "back", "kind", "word")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write_vocabulary(data: Mapping[str, Any], _title: str) -> bytes:
    return _write_csv(VOCABULARY_COLUMNS, (_to_row(word) for word in data["vocabulary"]))


def write_cards(data: Mapping[str, Any], _title: str) -> bytes:
    return _write_csv(
        CARD_COLUMNS, ([card[name] for name in CARD_COLUMNS] for card in data["flashcards"])
    )


def _to_row(word: Mapping[str, Any]) -> list[Any]:
    plain = {name: word.get(name) for name in VOCABULARY_COLUMNS}
    first = {"example": next(iter(word["examples"]), ""), "page": next(iter(word["pages"]), "")}
    return list((plain | first | {"forms": " ".join(word["forms"])}).values())


def _write_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """With a mark by which spreadsheets know UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([_defuse(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def _defuse(value: Any) -> Any:
    """Text from a document must not become a formula in somebody's spreadsheet."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
