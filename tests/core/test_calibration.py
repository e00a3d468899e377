"""Weights and tables of confidence."""

import json

import pytest

from docmill.core.calibration import load_calibration, look_up, score_feature, weigh

KEPT = json.dumps(
    {
        "weights": {"name": {"is:seller": 1.0, "score": 2.0, "odd": -3.0}},
        "tables": {"seller": [[-2, 0.1], [0, 0.5], [4, 0.9]], "seller scanned": [[0, 0.3]]},
        "documents": {"text": [[0.0, 0.0], [0.02, 0.01], [1.0, 1.0]], "scanned": []},
    }
)


def test_a_table_is_straight_between_its_knots_and_level_outside() -> None:
    knots = [(0.0, 0.2), (2.0, 0.6)]
    assert [look_up(knots, at) for at in (-5, 0, 1, 2, 9)] == pytest.approx(
        [0.2, 0.2, 0.4, 0.6, 0.6]
    )


def test_features_are_summed_by_their_weights() -> None:
    weights = {"is:seller": 1.0, "score": 2.0, "score:seller": 0.5, "odd": -3.0}
    assert weigh(weights, "seller", {"score": 1.0, "odd": 1.0}) == pytest.approx(0.5)


def test_text_and_scans_have_tables_of_their_own() -> None:
    fitted = load_calibration(KEPT)
    plain = {"score": 0.5, "scanned": 0.0}
    assert fitted.estimate("name", "seller", plain) == pytest.approx(0.7)
    assert fitted.estimate("name", "seller", {**plain, "scanned": 1.0}) == pytest.approx(0.3)


def test_documents_are_expected_by_their_own_curve() -> None:
    fitted = load_calibration(KEPT)
    assert fitted.expect(0.02) == pytest.approx(0.01)
    assert fitted.expect(0.0, scanned=True) == 1.0


def test_a_score_is_told_as_log_odds() -> None:
    assert score_feature(0.99) > score_feature(0.9) > score_feature(0.5)
    assert score_feature(1.0) == score_feature(0.999)
