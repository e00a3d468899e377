"""docmill search against a docmill that serves: from the file to the passage."""

import pytest

from docmill.reading import embeddings
from pdfs import make_pdf
from terminal import Terminal

TEXTS = [
    [(72, 100, "The agreement ends on 31 December 2027 unless it is renewed in writing.")],
    [(72, 100, "Deliveries are made to the warehouse in Jakarta on weekdays.")],
    [(72, 100, "Late payments bear interest of five percent a year.")],
]


def read(desk: Terminal) -> str:
    file = desk.home / "contract.pdf"
    file.write_bytes(make_pdf(TEXTS))
    (row,) = desk.run("submit", file, "--pipeline", "extract", "--watch", "--json").json
    assert row["status"] == "complete", row
    return row["job_id"]


@pytest.mark.skipif(embeddings.find_folder() is None, reason="the model is not installed")
def test_a_question_in_other_words_finds_the_passage_and_its_place(desk: Terminal) -> None:
    job_id = read(desk)

    answer = desk.run("search", "how", "long", "is", "the", "contract", "valid", "--json").json

    first = answer["hits"][0]
    assert first["page"] == 1
    assert "31 December 2027" in first["text"]
    assert (first["job_id"], first["filename"]) == (job_id, "contract.pdf")
    assert 70 < first["box"][0] < 75
    assert first["page_size"] == [595, 842]
    assert len(answer["hits"]) == 1  # the other passages say nothing of it
    assert answer["next_cursor"] is None


def test_words_are_found_and_another_person_finds_nothing(desk: Terminal) -> None:
    read(desk)

    ran = desk.run("search", "warehouse", "--limit", "1")
    assert ran.out.startswith("contract.pdf, page 2\nDeliveries are made to the warehouse")
    stranger = Terminal(desk.home / "stranger", desk.variables)
    stranger.home.mkdir()
    assert stranger.run("search", "warehouse").out == "Nothing found.\n"


def test_what_can_not_be_meant_is_refused_with_the_reason(desk: Terminal) -> None:
    ran = desk.run("search", "x", "--document", "7")

    assert ran.code == 1
    assert "document: not the id of a document." in ran.err
