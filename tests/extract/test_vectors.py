"""Vectors of passages: never long without a word, and never without end."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from docmill.core import plugins
from docmill.core.plugins import PDF, Memory, Output, Source, Tools
from docmill.extract.pipeline import pipeline
from docmill.extract.reader import chunking
from docmill.extract.reader.chunking import Chunk
from docmill.reading import embeddings
from docmill.reading.embeddings import Floats
from docmill.reading.pages import Box
from pdfs import make_pdf

pytestmark = pytest.mark.skipif(
    embeddings.find_folder() is None, reason="the model is not installed"
)

LINES = [
    (72, 72 + 14 * n, f"Line {n} tells of the delivery of goods and its terms.") for n in range(40)
]


def run(pages: int, heard: list[tuple[int, str]]) -> Output:
    tools = Tools(progress=lambda percent, stage: heard.append((percent, stage)), rows=True)
    return pipeline.run(Source(io.BytesIO(make_pdf([LINES] * pages)), "a file", PDF), tools)


def unheard(percent: int, stage: str) -> None:
    del percent, stage


def counts(output: Output) -> list[int]:
    rows: list[Any] = [*output.rows["chunks"]]
    return [len(row["embeddings"]) for row in rows]


def test_progress_is_spoken_again_and_again_while_vectors_are_made() -> None:
    heard: list[tuple[int, str]] = []

    made = sum(counts(run(2, heard)))

    told = [stage for _, stage in heard if stage.startswith("vector ")]
    done = [int(stage.split()[1]) for stage in told]
    assert told[-1] == f"vector {made} of {made}"
    steps = [after - before for before, after in zip([0, *done], done, strict=False)]
    assert len(steps) >= 4
    assert 0 < min(steps) <= max(steps) <= embeddings.BATCH_PIECES // 16
    assert [percent for percent, _ in heard] == sorted(percent for percent, _ in heard)


def test_where_there_are_too_many_parts_every_passage_has_a_vector_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = counts(run(1, []))
    assert max(whole) > 1
    monkeypatch.setattr(chunking, "MAX_PARTS", len(whole) + 1)

    output = run(1, [])

    assert counts(output) == [2, *[1] * (len(whole) - 1)]
    said = f"meaning was made of {len(whole) + 1} of {sum(whole)} parts of passages"
    assert any(said in warning for warning in output.data["warnings"])


def test_when_time_is_up_the_rest_is_left_to_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "CPU_SECONDS", 0.0)

    output = run(1, [])

    assert 0 < sum(counts(output)) < 20
    assert any("words find the rest" in warning for warning in output.data["warnings"])


def test_vectors_an_earlier_try_has_made_are_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embeddings, "BATCH_PIECES", 1)
    monkeypatch.setattr(plugins, "STEP_CHARS", 1)
    kept: dict[tuple[str, int], list[Any]] = {}
    memory = Memory(
        lambda kind, number, items: kept.update({(kind, number): items}),
        lambda kind, number: kept.get((kind, number)),
    )
    passages = [Chunk(1, Box(0, 0, 1, 1), "", text, (text,)) for text in ("tea", "rice", "salt")]
    whole = chunking.make_vectors(passages, Tools(unheard, memory=memory))
    assert len(kept) == 3
    del kept[f"vectors of {embeddings.MODEL_NAME}", 2]
    made: list[str] = []
    real = embeddings.Embedder.embed_each

    def seen(self: embeddings.Embedder, texts: Sequence[str]) -> Iterator[Floats]:
        made.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(embeddings.Embedder, "embed_each", seen)
    assert chunking.make_vectors(passages, Tools(unheard, memory=memory)) == whole
    assert [text.strip() for text in made] == ["salt"]
