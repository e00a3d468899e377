import pickle

import pytest

from docmill.pipelines.study import frequencies, senses, tagger, wordnet
from docmill.pipelines.study.prose import sentences
from docmill.pipelines.study.wordnet import Part
from docmill.reading.pages import Box, Page, Word, line_of


@pytest.mark.parametrize(
    ("form", "part", "lemma"),
    [
        ("geese", Part.NOUN, "goose"),
        ("stopped", Part.VERB, "stop"),
        ("ran", Part.VERB, "run"),
        ("happier", Part.ADJECTIVE, "happy"),
        ("churches", Part.NOUN, "church"),
        ("zzzz", Part.NOUN, None),
    ],
)
def test_a_form_leads_to_its_word(form: str, part: Part, lemma: str | None) -> None:
    assert next(iter(wordnet.lemmas(form, part)), None) == lemma


def test_the_first_and_the_last_word_of_an_index_are_found() -> None:
    assert wordnet.senses("zymotic", Part.ADJECTIVE)
    assert wordnet.lemmas("abandoned", Part.ADJECTIVE) == ("abandoned",)
    assert wordnet.senses("a", Part.NOUN)


def test_names_have_no_sense() -> None:
    assert wordnet.senses("paris", Part.NOUN) == ()
    assert wordnet.senses("einstein", Part.NOUN) == ()


@pytest.mark.parametrize(
    ("near", "meant"),
    [
        ("The money in the deposit account of the bank was lent as a mortgage.", "financial"),
        ("They pulled the canoe up on the bank and watched the river's slope.", "sloping land"),
    ],
)
def test_neighbours_decide_between_meanings(near: str, meant: str) -> None:
    context = senses.context_of([near], "bank")
    chosen = senses.choose(wordnet.senses("bank", Part.NOUN), context)

    assert meant in chosen.sense.definition
    assert 0 < chosen.confidence <= 1


def test_tags_follow_the_sentence() -> None:
    assert ("watch", "VB") in tagger.tag("She wants to watch the birds.")
    assert ("watch", "NN") in tagger.tag("His watch was made of gold.")
    assert tagger.tokens("She didn't see Tom's well-known book.") == [
        "She", "did", "n't", "see", "Tom", "'s", "well-known", "book", ".",
    ]  # fmt: skip


def test_a_file_of_weights_cannot_call_anything() -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("called",)

    with pytest.raises(pickle.UnpicklingError):
        tagger.plain(pickle.dumps(Bad()))


def test_bands_go_with_frequency() -> None:
    bands = [frequencies.band(frequencies.zipf(word, "en")) for word in ("the", "weary", "zymotic")]
    assert bands == ["A1", "B2", "C2"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Mr. Smith met Dr. J. R. Jones at 5 p.m. They spoke. It was late!", 3),
        ("“Stop!” he cried. ‘Why?’ she asked.", 2),
        ("It costs 3.5 dollars, e.g. here.", 1),
    ],
)
def test_sentences_end_where_they_end(text: str, count: int) -> None:
    words = [Word(word, Box(10 * at, 0, 10 * at + 9, 10)) for at, word in enumerate(text.split())]
    page = Page(1, 600, 800, (line_of(words),))

    assert len(list(sentences([page], lambda _: False))) == count
