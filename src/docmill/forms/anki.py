"""A study set as an Anki package: a zip with an SQLite collection of schema 11, which all read.

The same set always gives the same bytes, and notes keep their identity: a set imported again brings
its cards up to date instead of doubling them.
"""

import hashlib
import html
import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
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
COL: Final = "INSERT INTO col VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
NOTE: Final = "INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,?,?)"
CARD: Final = "INSERT INTO cards VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
VERSION: Final = 11
MADE: Final = 1_700_000_000  # no clock: the same set gives the same file
MODEL: Final = 1_700_000_000_001
FIELDS: Final = ("Front", "Back", "Word")
SEPARATOR: Final = "\x1f"
CSS: Final = (
    ".card { font: 20px/1.5 sans-serif; text-align: center; max-width: 40em; margin: 0 auto; }"
)
_TAGS: Final = re.compile(r"<[^>]*>")


def deck(data: Mapping[str, Any], title: str) -> bytes:
    deck_id = MODEL + 1 + _number(title) % 10**9
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(SCHEMA)
        base.execute(COL, _collection(deck_id, title))
        for place, card in enumerate(data["flashcards"], 1):
            note = MADE * 1000 + place
            base.execute(NOTE, _note(note, card))
            values = (note, note, deck_id, 0, MADE, -1, 0, 0, place, *[0] * 8, "")
            base.execute(CARD, values)
        base.commit()
        collection = base.serialize()
    return _packed({"collection.anki2": collection, "media": b"{}"})


def _packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _note(note: int, card: Mapping[str, Any]) -> Sequence[Any]:
    fields = [_shown(card[name]) for name in ("front", "back", "word")]
    plain = _TAGS.sub("", fields[0])
    checksum = int(hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest()[:8], 16)
    texts = SEPARATOR.join(fields)
    return (note, card["id"], MODEL, MADE, -1, f" {card['kind']} ", texts, plain, checksum, 0, "")


def _shown(text: str) -> str:
    return html.escape(text.replace(SEPARATOR, " "), quote=False).replace("\n", "<br>")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _collection(deck_id: int, title: str) -> Sequence[Any]:
    decks = {str(each["id"]): each for each in (_deck(1, "Default"), _deck(deck_id, title))}
    settings = {"curDeck": deck_id, "activeDecks": [deck_id], "curModel": str(MODEL), "nextPos": 1}
    parts = (settings, {str(MODEL): _model(deck_id)}, decks, {"1": OPTIONS}, dict[str, int]())
    return (1, MADE, MADE * 1000, MADE * 1000, VERSION, 0, 0, 0, *map(json.dumps, parts))


def _deck(number: int, name: str) -> Mapping[str, Any]:
    today = {f"{kind}Today": [0, 0] for kind in ("new", "rev", "lrn", "time")}
    facts = {"id": number, "name": name, "mod": MADE, "usn": -1, "conf": 1, "dyn": 0, "desc": ""}
    return facts | today | {"collapsed": False, "extendNew": 10, "extendRev": 50}


def _model(deck_id: int) -> Mapping[str, Any]:
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
    facts = {"id": MODEL, "name": "docmill", "type": 0, "mod": MADE, "usn": -1, "sortf": 0}
    return (
        facts
        | latex
        | {"did": deck_id, "tags": [], "css": CSS, "flds": fields, "tmpls": [template]}
    )


OPTIONS: Final[Mapping[str, Any]] = {
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
