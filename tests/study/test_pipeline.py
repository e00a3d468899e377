import re
from itertools import pairwise
from typing import Any

import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import DOCX, PDF, TEXT, Pipeline
from docmill.study.pipeline import pipeline
from docmill.study.reader import lexicon
from pdfs import make_pdf
from reading.test_docx import make_docx, paragraph
from study.texts import RIVER, study


def test_it_keeps_the_contract() -> None:
    assert isinstance(pipeline, Pipeline)
    assert pipeline.accepts == (PDF, DOCX, TEXT)


def test_words_worth_learning_come_with_all_that_a_learner_needs() -> None:
    found = study()
    words = {word["word"]: word for word in found["vocabulary"]}

    assert {"shepherd", "weary", "flock", "ridge"} <= set(words)
    flock = words["flock"]
    assert (flock["lemma"], flock["partOfSpeech"]) == ("flock", "noun")
    assert flock["definedBy"] == "WordNet 3.0"
    assert flock["level"] in {"B1", "B2", "C1"}
    assert flock["count"] == 2
    assert words["weary"]["partOfSpeech"] == "adjective"
    assert words["linger"]["forms"] == ["lingered"]
    assert words["shepherd"]["definition"].startswith("a herder of sheep")
    assert [word["score"] for word in found["vocabulary"]] == sorted(
        (word["score"] for word in found["vocabulary"]), reverse=True
    )


def test_no_stop_word_number_or_name_is_among_them() -> None:
    words = [word["word"] for word in study()["vocabulary"]]

    assert not [word for word in words if lexicon.is_plain(word)]
    assert not {"margaret", "bristol", "twenty", "hundred", "1987", "already", "tomorrow"} & set(
        words
    )


def test_every_example_stands_in_the_document() -> None:
    text = " ".join(RIVER.split())
    examples = [example for word in study()["vocabulary"] for example in word["examples"]]

    assert examples
    assert [example for example in examples if example not in text] == []


def test_running_headers_are_no_part_of_the_text() -> None:
    lines = RIVER.splitlines()[2:]
    body = [(72.0, 120.0 + 14 * at, line) for at, line in enumerate(lines)]
    pages = [
        [(72.0, 40.0, "The Herdsman's Almanac"), *body, (300.0, 800.0, f"Page {number} of 4")]
        for number in range(1, 5)
    ]
    found = study(make_pdf(pages), PDF)
    said = " ".join(example for word in found["vocabulary"] for example in word["examples"])

    assert found["wordCount"] == 4 * len(" ".join(lines).split())
    assert "Almanac" not in said
    assert "Page" not in said
    assert found["vocabulary"][0]["pages"]


def test_words_cut_at_the_end_of_a_line_are_made_whole() -> None:
    text = RIVER.replace("reluctant", "reluc-\ntant").replace("monastery", "mon-\nastery")
    words = {word["word"] for word in study(text)["vocabulary"]}

    assert "astery" not in words
    assert "tant" not in words


def test_cards_are_of_three_kinds_and_none_comes_twice() -> None:
    found = study()
    cards = found["flashcards"]
    fronts = [card["front"] for card in cards]

    assert {card["kind"] for card in cards} == {"definition", "term", "cloze"}
    assert len({front.casefold() for front in fronts}) == len(fronts)
    assert len({card["id"] for card in cards}) == len(cards)
    for card in cards:
        if card["kind"] != "definition":
            assert not re.search(rf"\b{card['back']}\b", card["front"], re.IGNORECASE)
    (cloze,) = [card for card in cards if card["kind"] == "cloze" and card["word"] == "budge"]
    assert cloze["front"].endswith("the eldest ewe refused to _____.")
    (cloze,) = [card for card in cards if card["kind"] == "cloze" and card["word"] == "linger"]
    assert cloze["back"] == "lingered (linger)"
    neighbours = pairwise(card["word"] for card in cards)
    assert sum(one == other for one, other in neighbours) < 3


def test_progress_goes_by_the_agreed_steps_and_only_grows() -> None:
    steps: list[tuple[int, str]] = []
    study(steps=steps)
    percents = [percent for percent, _ in steps]

    assert sorted({*percents} - {0}) == [20, 30, 50, 70, 85, 90, 100]
    assert all(before <= after for before, after in pairwise(percents))


def test_the_same_text_gives_the_same_result_in_any_of_its_forms() -> None:
    body = "".join(paragraph(" ".join(part.split())) for part in RIVER.split("\n\n")[1:])
    text, word = study("\n\n".join(RIVER.split("\n\n")[1:])), study(make_docx(body), DOCX)

    assert study(steps=[]) == study(steps=[])
    assert word["wordCount"] == text["wordCount"]
    assert [each["word"] for each in word["vocabulary"]] == [
        each["word"] for each in text["vocabulary"]
    ]


def test_a_text_in_another_language_says_what_it_lacks() -> None:
    text = (
        "Der alte Hirte führte seine müde Herde über die Brücke. Die Schafe wollten nicht durch "
        "das trübe Wasser gehen, und der Hund bellte. Am Abend erreichten sie das Kloster."
    )
    found = study(text)

    assert found["language"]["name"] == "German"
    assert {"Brücke", "Hirte", "Kloster"} <= {word["word"] for word in found["vocabulary"]}
    assert all(word["definition"] is None for word in found["vocabulary"])
    assert found["warnings"] == [
        "no German dictionary: words are ranked by frequency, without definitions"
    ]


def test_a_language_nobody_knows_gives_its_length_and_a_warning() -> None:
    found = study("Zxq vrrt plomk dfgh wrtz klmn.")

    assert found["wordCount"] == 6
    assert found["vocabulary"] == []
    assert found["warnings"] == ["the language was not recognised, so no vocabulary was made"]


def test_a_pdf_without_text_is_refused() -> None:
    with pytest.raises(DocmillError, match="BAD_PDF"):
        study(make_pdf([[]]), PDF)


def test_a_language_model_says_what_words_mean_here() -> None:
    asked: list[Any] = []

    def answer(service: str, request: Any) -> Any:
        asked.append((service, request))
        lines = request["prompt"].splitlines()
        rows = [
            {"number": at, "partOfSpeech": line.split("(")[1].split(")")[0], "definition": f"d{at}"}
            for at, line in enumerate(lines, 1)
        ]
        rows[1]["partOfSpeech"] = "pronoun"
        rows[2]["definition"] = ""
        return {"value": {"words": [*rows, {"number": 99}, "nonsense"]}, "model": "m-1"}

    plain, found = study()["vocabulary"], study(answers=answer)["vocabulary"]

    assert asked[0][0] == "complete"
    assert (found[0]["definition"], found[0]["definedBy"]) == ("d1", "m-1")
    assert found[1:3] == plain[1:3]
    assert [word["examples"] for word in found] == [word["examples"] for word in plain]


@pytest.mark.parametrize(
    ("code", "goes_on"), [("SERVICE_REFUSED", True), ("SERVICE_FAILED", False)]
)
def test_a_model_that_refuses_is_done_without_and_one_that_fails_is_asked_again(
    code: str, goes_on: bool
) -> None:
    def fail(_service: str, _request: Any) -> Any:
        raise DocmillError(code)

    if not goes_on:
        with pytest.raises(DocmillError, match=code):
            study(answers=fail)
        return
    found = study(answers=fail)
    assert found["vocabulary"] == study()["vocabulary"]
    assert found["warnings"][0].startswith("the language model defined only 0 words")
