"""The model's own published figures, and what must hold for any texts."""

import importlib.util
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docmill.reading import embeddings
from docmill.reading.embeddings import Embedder

pytestmark = pytest.mark.skipif(
    embeddings.find_folder() is None, reason="the model is not installed"
)


PUBLISHED = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    found = embeddings.load_embedder()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def exact(embedder: Embedder) -> Embedder:
    """The same in 32 bit numbers."""
    place = embeddings.find_folder()
    assert place is not None
    weights = embeddings.read_weights(place / "model.safetensors")
    return Embedder(embeddings.build_model(weights, exact=True), embedder.pieces)


def test_similarities_are_those_that_the_makers_of_the_model_publish(exact: Embedder) -> None:
    vectors = exact.embed(PUBLISHED)

    alike = vectors @ vectors.T
    assert alike[0, 1] == pytest.approx(0.6660, abs=2e-4)
    assert alike[0, 2] == pytest.approx(0.1046, abs=2e-4)
    assert alike[1, 2] == pytest.approx(0.1411, abs=2e-4)


@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
def test_vectors_in_8_bit_numbers_are_other_numbers_with_the_same_meaning(
    embedder: Embedder, exact: Embedder
) -> None:
    texts = [*PUBLISHED, "Rechnung Nr. 17 über 1.200,00 EUR", "word", "many words " * 400]
    small, large = embedder.embed(texts), exact.embed(texts)

    assert (small * large).sum(1).min() > 0.95
    assert np.abs(small @ small.T - large @ large.T).max() < 0.08
    assert np.abs(small - large).max() > 1e-5


def test_a_text_has_the_same_vector_alone_and_among_longer_ones(embedder: Embedder) -> None:
    texts = ["short", "a somewhat longer text of several words " * 5, "middle of the road"]

    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])

    assert np.abs(together - alone).max() < 1e-4


def test_every_vector_has_length_one_even_of_no_text(embedder: Embedder) -> None:
    vectors = embedder.embed(["", "word", "many words " * 400])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_no_text_gives_no_vector(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embeddings.WIDTH)


def test_many_texts_come_in_small_steps_and_in_order(embedder: Embedder) -> None:
    texts = [f"text number {number} " * 40 for number in range(8)]

    steps = [*embedder.embed_each(texts)]

    assert len(steps) >= 4
    together = np.concatenate(steps)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-4


def test_words_are_cut_as_by_bert(embedder: Embedder) -> None:
    assert embedder.pieces.encode("Hello, World!", 99) == [101, 7592, 1010, 2088, 999, 102]
    assert embedder.pieces.encode("embeddings", 99) == [101, 7861, 8270, 4667, 2015, 102]
    assert embedder.pieces.encode("naïve café", 99) == [101, 15743, 7668, 102]
    assert embedder.pieces.encode("x" * 101, 99) == [101, 100, 102]


def test_a_long_text_is_cut_at_the_limit_and_still_ends_well(embedder: Embedder) -> None:
    ids = embedder.pieces.encode("word " * 1000, 256)

    assert len(ids) == 256
    assert ids[-1] == embeddings.STOP


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_can_be_cut(text: str) -> None:
    found = embeddings.load_embedder()
    assert found is not None

    ids = found.pieces.encode(text, 64)

    assert 2 <= len(ids) <= 64
    assert all(0 <= number < 30522 for number in ids)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_the_short_way_for_plain_letters_cuts_as_the_long_one(text: str) -> None:
    assert [*embeddings.split_words(text)] == [*embeddings.split_words(text + " é")][:-1]


def test_gelu_is_near_the_exact_one() -> None:
    x = np.linspace(-8, 8, 1001, dtype=np.float32)
    exact = np.array([v * 0.5 * (1 + math.erf(v / 2**0.5)) for v in x.tolist()])

    assert np.abs(embeddings.gelu(x) - exact).max() < 5e-5


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(embeddings.UnusableWeights, match="have no"):
        embeddings.build_model({})
