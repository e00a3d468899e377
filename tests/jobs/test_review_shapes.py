"""What reviews of every room share: a reason is one line, and a refusal names each edit."""

import pytest

from docmill.core.faults import DocmillError
from docmill.jobs.review_shapes import (
    EditError,
    PlacedEdit,
    Rejection,
    list_mistakes,
    make_refusal,
)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Not\nours", "Not ours"),
        ("  two \t words ", "two words"),
        ("a\u200bb\u202e", "ab"),
        ("a \u200b b", "a b"),
    ],
)
def test_a_reason_is_kept_as_one_line_that_everybody_sees(sent: str, kept: str) -> None:
    assert Rejection(revision=0, reason=sent).read_reason() == kept


def test_a_reason_that_says_nothing_is_refused() -> None:
    with pytest.raises(DocmillError) as caught:
        Rejection(revision=0, reason=" \n\u200b").read_reason()
    assert caught.value.facts["mistakes"] == [{"at": "body.reason", "message": "says nothing"}]


def test_a_refusal_names_the_edit_and_which_part_of_it_is_wrong() -> None:
    mistakes = {0: EditError("is no date"), 2: EditError("names nothing", "path")}
    assert make_refusal(mistakes).facts["mistakes"] == [
        {"at": "body.edits.0.value", "message": "is no date"},
        {"at": "body.edits.2.path", "message": "names nothing"},
    ]
    edits = [PlacedEdit(path=path, value=None) for path in ("lines[0].day", "b", "c")]
    assert list_mistakes(edits, mistakes) == {"lines[0].day": "is no date", "c": "names nothing"}


def test_an_edit_has_a_place_only_with_both_page_and_box() -> None:
    box = [1.0, 2.0, 3.0, 4.0]
    assert PlacedEdit(path="a", value="1", page=2, box=box).place == {"page": 2, "box": box}
    assert PlacedEdit(path="a", value="1", page=2).place is None
