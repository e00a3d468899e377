import pickle

import pytest

from docmill.reading.pages import Box, Page, Word, make_line
from docmill.study.reader import lexicon, senses, tagger, wordnet
from docmill.study.reader.prose import find_sentences
from docmill.study.reader.wordnet import PartOfSpeech


@pytest.mark.parametrize(
    ("form", "part", "lemma"),
    [
        ("geese", PartOfSpeech.NOUN, "goose"),
        ("stopped", PartOfSpeech.VERB, "stop"),
        ("ran", PartOfSpeech.VERB, "run"),
        ("happier", PartOfSpeech.ADJECTIVE, "happy"),
        ("churches", PartOfSpeech.NOUN, "church"),
        ("zzzz", PartOfSpeech.NOUN, None),
    ],
)
def test_a_form_leads_to_its_word(form: str, part: PartOfSpeech, lemma: str | None) -> None:
    assert next(iter(wordnet.find_lemmas(form, part)), None) == lemma


def test_the_first_and_the_last_word_of_an_index_are_found() -> None:
    assert wordnet.find_senses("zymotic", PartOfSpeech.ADJECTIVE)
    assert wordnet.find_lemmas("abandoned", PartOfSpeech.ADJECTIVE) == ("abandoned",)
    assert wordnet.find_senses("a", PartOfSpeech.NOUN)


def test_names_have_no_sense() -> None:
    assert wordnet.find_senses("paris", PartOfSpeech.NOUN) == ()
    assert wordnet.find_senses("einstein", PartOfSpeech.NOUN) == ()


@pytest.mark.parametrize(
    ("near", "meant"),
    [
        ("The money in the deposit account of the bank was lent as a mortgage.", "financial"),
        ("They pulled the canoe up on the bank and watched the river's slope.", "sloping land"),
    ],
)
def test_neighbours_decide_between_meanings(near: str, meant: str) -> None:
    chosen = senses.choose_sense("bank", PartOfSpeech.NOUN, [near], senses.find_topic({}))

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
    chosen = senses.choose_sense(word, PartOfSpeech.NOUN, [sentence], senses.find_topic({}))

    assert meant in chosen.sense.definition


def test_a_text_on_computers_has_the_meanings_of_computers() -> None:
    words = "software file program user menu byte font cursor desktop kernel buffer compiler"
    topic = senses.find_topic(dict.fromkeys(words.split(), 9))
    chosen = senses.choose_sense(
        "directory", PartOfSpeech.NOUN, ["Put it into the directory."], topic
    )

    assert chosen.sense.definition.startswith("(computer science)")


@pytest.mark.parametrize(
    ("sentence", "word", "part"),
    [
        ("He shall judge it necessary and expedient.", "expedient", PartOfSpeech.ADJECTIVE),
        ("It looked too expensive and jolly there.", "jolly", PartOfSpeech.ADJECTIVE),
        ("They sold all property belonging to the state.", "belong", PartOfSpeech.VERB),
        ("The version (mandatory) comes first.", "mandatory", PartOfSpeech.ADJECTIVE),
    ],
)
def test_neighbours_decide_between_parts_of_speech(
    sentence: str, word: str, part: PartOfSpeech
) -> None:
    assert (word, part) in {(lemma, kind) for _, lemma, kind in tagger.find_words(sentence)}


def test_half_of_a_phrase_is_not_the_word() -> None:
    assert "vain" not in {lemma for _, lemma, _ in tagger.find_words("He tried in vain to sleep.")}
    assert "vain" in {lemma for _, lemma, _ in tagger.find_words("He was a vain man.")}


def test_a_definition_says_more_than_the_word_itself() -> None:
    (politely,) = wordnet.find_senses("politely", PartOfSpeech.ADVERB)
    sigh = wordnet.find_senses("sigh", PartOfSpeech.VERB)[0]

    assert wordnet.write_definition("politely", politely).startswith(
        "in a polite manner (polite: showing"
    )
    assert wordnet.write_definition("sigh", sigh) == "breathe deeply and heavily"


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
    assert wordnet.gives_away(text, word) is given


def test_tags_follow_the_sentence() -> None:
    assert ("watch", "VB") in tagger.tag_sentence("She wants to watch the birds.")
    assert ("watch", "NN") in tagger.tag_sentence("His watch was made of gold.")
    assert tagger.split_tokens("She didn't see Tom's well-known book.") == [
        "She", "did", "n't", "see", "Tom", "'s", "well-known", "book", ".",
    ]  # fmt: skip


def test_a_file_of_weights_cannot_call_anything() -> None:
    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("called",)

    with pytest.raises(pickle.UnpicklingError):
        tagger.unpickle_plain(pickle.dumps(Bad()))


def test_bands_go_with_frequency() -> None:
    bands = [
        lexicon.find_band(lexicon.zipf_frequency(word, "en"))
        for word in ("the", "weary", "zymotic")
    ]
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
    page = Page(1, 600, 800, (make_line(words),))

    assert len(list(find_sentences([page], lambda _: False))) == count
