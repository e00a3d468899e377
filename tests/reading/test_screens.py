"""A quick look before a pattern never hides what the pattern would find."""

import re

import pytest

from docmill.invoices.reader import lexicon
from docmill.reading.labels import fold, squeeze
from docmill.reading.screens import find_any, make_screen, quicken, split_at_edges

AMOUNTS = ("tax", "net", "gross", "due", "paid", "sum", "discount", "identifier", "carried")
STEMS = ("price", "unit", "sum", "count", "discount", "tax", "code", "words")
TEXTS = (
    *(
        "total incl. 19 % vat",
        "zwischensumme netto",
        "jumlah halaman 2",
        "net amount",
        "ustid de12",
    ),
    *(
        "harga per unit",
        "positionssumme",
        "description",
        "qty",
        "betrag eur",
        "montant ht",
        "hello",
    ),
    *("mehrwertsteuer", "umsatzsteuerbetrag 7", "rabatt", "a 3", "1.250,00", "", "carried forward"),
    *(
        "tel. +49 30 123",
        "telefon",
        "npwp 01.234",
        "vat id",
        "di 4",
        "bank",
        "hotel",
        "www.a.example",
    ),
    *(
        "r.u.t. 1",
        "adoszam",
        "adószám",
        "privat",
        "mainstreet 12",
        "kirchweg 3",
        "12 rue de x",
        "x@y",
    ),
)


@pytest.mark.parametrize("concept", AMOUNTS)
def test_a_quickened_choice_matches_at_the_same_places(concept: str) -> None:
    words = lexicon.amount_words(concept)
    plain, quick = re.compile(rf"\b{words}\b"), re.compile(rf"\b{quicken(words)}\b")
    places = [match.start() if (match := plain.search(text)) else None for text in TEXTS]
    assert [m.start() if (m := quick.search(text)) else None for text in TEXTS] == places


def test_a_quickened_choice_finds_words_behind_any_letters() -> None:
    words = quicken(r"(?:net|total|due|paid|[0-9]x|\w*summe)")
    quick = re.compile(rf"\b{words}\b")
    found = [
        text for text in ("zwischensumme", "net", "3x", "subtotal", "sum") if quick.search(text)
    ]
    assert found == ["zwischensumme", "net", "3x"]


@pytest.mark.parametrize("concept", STEMS)
def test_a_screen_finds_something_where_a_pattern_does(concept: str) -> None:
    pattern, screen = lexicon.stem_pattern(concept), make_screen([lexicon.stem_words(concept)])
    hits = [text for text in TEXTS if pattern.search(text)]
    assert all(screen.search(text) for text in hits)
    assert not screen.search("1.250,00"), "it would be no screen"


def test_a_pattern_that_begins_anyhow_makes_no_screen() -> None:
    with pytest.raises(ValueError, match="does not say how texts begin"):
        make_screen([r"(?:total|[^a]sum)"])


@pytest.mark.parametrize("concept", ["contact", "taxed"])
def test_choices_split_at_edges_find_the_same_texts(concept: str) -> None:
    whole = lexicon.lowered_pattern(lexicon.printed_words(concept))
    parts = split_at_edges(whole.pattern)
    expected = [whole.search(text) is not None for text in TEXTS]
    assert [find_any(parts, text) for text in TEXTS] == expected
    assert len(parts) == 2
    assert any(expected)
    assert not all(expected)


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        "Invoice No.",
        "INVOICE-NO",
        "Straße 5",
        "é{t}é",
        "a|b",
        "Zł 5%",
        "#12",
        "\ufb01n",
        "日本 1",
    ],
)
def test_the_short_way_to_squeeze_gives_what_folding_gives(text: str) -> None:
    assert squeeze(text) == fold(text, "#%").replace(" ", "")
