from docmill.core.ranking import both, fused


def test_what_stands_first_everywhere_scores_one() -> None:
    assert fused((0.5, [7, 8]), (1.0, [7]))[0] == (1.0, 7)


def test_what_both_find_comes_before_what_one_finds_in_the_same_place() -> None:
    assert [thing for _, thing in both([1, 2], [3, 2])] == [2, 3, 1]


def test_of_two_first_places_that_by_meaning_wins() -> None:
    assert [thing for _, thing in both([1], [2])] == [2, 1]


def test_words_alone_keep_their_order() -> None:
    assert [thing for _, thing in both([5, 4, 6], [])] == [5, 4, 6]
