from docmill.extract.queries import Likeness, weigh_word
from docmill.extract.search import rank_passages


def order(*found: Likeness) -> list[int]:
    return [passage for _, passage in rank_passages(found, [3.0])]


def test_what_means_the_same_and_has_every_word_scores_one() -> None:
    assert rank_passages([Likeness(7, 3.0, 1.0)], [3.0]) == [(1.0, 7)]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    assert weigh_word(1, 100) > weigh_word(50, 100) > 0


def test_of_two_as_near_the_one_with_the_words_comes_first() -> None:
    assert order(Likeness(1, 0.0, 0.5), Likeness(2, 3.0, 0.5)) == [2, 1]


def test_a_little_nearer_does_not_make_up_for_a_rare_word() -> None:
    assert order(Likeness(1, 0.0, 0.55), Likeness(2, 3.0, 0.5)) == [2, 1]
    assert order(Likeness(1, 0.0, 0.65), Likeness(2, 3.0, 0.5)) == [1, 2]


def test_what_has_no_vector_counts_as_the_farthest() -> None:
    assert order(Likeness(1, 0.0, 0.2), Likeness(2, 1.0, None), Likeness(3, 0.0, 0.9)) == [3, 2, 1]


def test_words_decide_alone_where_nothing_has_a_vector() -> None:
    assert rank_passages([Likeness(1, 1.5, None), Likeness(2, 3.0, None)], [3.0]) == [
        (1.0, 2),
        (0.5, 1),
    ]


def test_nothing_asked_finds_nothing() -> None:
    assert rank_passages([Likeness(1, 0.0, None)], []) == []
