"""Study sets as CSV and as Anki packages."""

import csv
import io
import sqlite3
import zipfile
from contextlib import closing
from typing import Any

from docmill.study.formats import write_anki, write_cards, write_vocabulary

CARD = {"id": "1f", "kind": "term", "front": "a <b> & c", "back": "word\nline", "word": "word"}
WORD = {
    "word": "word", "partOfSpeech": "noun", "level": "B1", "definition": "=1+1", "count": 2,
    "frequency": 4.0, "forms": ["word", "words"], "examples": ['He said "word".'], "pages": [3],
}  # fmt: skip
SET: dict[str, Any] = {"vocabulary": [WORD], "flashcards": [CARD, CARD | {"id": "2f"}]}


def test_words_come_as_csv_that_no_spreadsheet_runs() -> None:
    written = write_vocabulary(SET, "a book")
    (row,) = csv.DictReader(io.StringIO(written.decode("utf-8-sig")))

    assert (row["word"], row["page"], row["forms"]) == ("word", "3", "word words")
    assert row["example"] == 'He said "word".'
    assert row["definition"] == "'=1+1"


def test_cards_come_as_csv() -> None:
    rows = list(csv.reader(io.StringIO(write_cards(SET, "").decode("utf-8-sig"))))
    assert rows[1] == ["a <b> & c", "word\nline", "term", "word"]


def test_an_anki_package_holds_every_card_once_and_is_always_the_same() -> None:
    packed = write_anki(SET, "a book")
    assert packed == write_anki(SET, "a book")
    with (
        zipfile.ZipFile(io.BytesIO(packed)) as archive,
        closing(sqlite3.connect(":memory:")) as base,
    ):
        assert archive.namelist() == ["collection.anki2", "media"]
        base.deserialize(archive.read("collection.anki2"))
        notes = base.execute("SELECT guid, tags, flds FROM notes ORDER BY id").fetchall()
        cards = base.execute(
            "SELECT count(DISTINCT nid), count(DISTINCT did) FROM cards"
        ).fetchone()
        (decks,) = base.execute("SELECT decks FROM col").fetchone()

    assert notes[0] == ("1f", " term ", "a &lt;b&gt; &amp; c\x1fword<br>line\x1fword")
    assert cards == (2, 1)
    assert '"a book"' in decks
