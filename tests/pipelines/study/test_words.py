import pickle

import pytest

from docmill.pipelines.study import frequencies, parts, senses, tagger, wording, wordnet
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
    chosen = senses.meant("bank", Part.NOUN, [near], senses.topic_of({}))

    assert meant in chosen.sense.definition
    assert 0 < chosen.confidence <= 1


@pytest.mark.parametrize(
    ("word", "sentence", "meant"),
    [
        (
            "glove",
            "Run home this moment, and fetch me a pair of gloves and a fan!",
            "covers the hand",
        ),
        ("lobster", "The lobster crawled along the bottom of the sea.", "crustacean"),
        ("mechanism", "The mechanism of the clock had rusted, and its wheels stood.", "machinery"),
    ],
)
def test_a_rarer_meaning_wins_where_the_sentence_is_near_it(
    word: str, sentence: str, meant: str
) -> None:
    chosen = senses.meant(word, Part.NOUN, [sentence], senses.topic_of({}))

    assert meant in chosen.sense.definition


def test_a_text_on_computers_has_the_meanings_of_computers() -> None:
    words = "software file program user menu byte font cursor desktop kernel buffer compiler"
    topic = senses.topic_of(dict.fromkeys(words.split(), 9))
    chosen = senses.meant("directory", Part.NOUN, ["Put it into the directory."], topic)

    assert chosen.sense.definition.startswith("(computer science)")


@pytest.mark.parametrize(
    ("sentence", "word", "part"),
    [
        ("He shall judge it necessary and expedient.", "expedient", Part.ADJECTIVE),
        ("It looked too expensive and jolly there.", "jolly", Part.ADJECTIVE),
        ("They sold all property belonging to the state.", "belong", Part.VERB),
        ("The version (mandatory) comes first.", "mandatory", Part.ADJECTIVE),
    ],
)
def test_neighbours_decide_between_parts_of_speech(sentence: str, word: str, part: Part) -> None:
    assert (word, part) in {(lemma, kind) for _, lemma, kind in parts.found(sentence)}


def test_half_of_a_phrase_is_not_the_word() -> None:
    assert "vain" not in {lemma for _, lemma, _ in parts.found("He tried in vain to sleep.")}
    assert "vain" in {lemma for _, lemma, _ in parts.found("He was a vain man.")}


def test_a_definition_says_more_than_the_word_itself() -> None:
    (politely,) = wordnet.senses("politely", Part.ADVERB)
    sigh = wordnet.senses("sigh", Part.VERB)[0]

    assert wording.said("politely", politely).startswith("in a polite manner (polite: showing")
    assert wording.said("sigh", sigh) == "breathe deeply and heavily"


@pytest.mark.parametrize(
    ("text", "word", "given"),
    [
        ("someone who takes care of a garden", "gardener", True),
        ("shall be _____ by him, or being disapproved", "approve", True),
        ("the sense organ for hearing", "ear", False),
        ("They were silent.", "silence", False),
    ],
)
def test_kin_of_a_word_gives_it_away(text: str, word: str, given: bool) -> None:
    assert wording.gives_away(text, word) is given


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
