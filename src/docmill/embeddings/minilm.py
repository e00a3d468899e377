"""The forward pass of all-MiniLM-L6-v2 in numpy: six layers of BERT, mean over words, length 1."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from docmill.embeddings.weights import Floats, Unfit

WIDTH: Final = 384
LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12
# ln(F / (1 - F)) / x of the normal distribution as a polynomial in x squared, fitted on |x| < 6.
_LOGIT: Final = (np.float32(1.5949489), np.float32(0.074072057), np.float32(-0.0007129036))
_FAR: Final = np.float32(6.0)

# Where each text of a batch begins and ends.
Spans = Sequence[tuple[int, int]]


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
            part(x).reshape(-1, HEADS, WIDTH // HEADS).swapaxes(0, 1)
            for part in (self.query, self.key, self.value)
        )
        query *= np.float32(1 / math.sqrt(WIDTH // HEADS))
        out = np.empty((len(x), HEADS, WIDTH // HEADS), np.float32)
        for start, end in spans:
            scores = query[:, start:end] @ key[:, start:end].swapaxes(1, 2)
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(-1, keepdims=True)
            out[start:end] = (scores @ value[:, start:end]).swapaxes(0, 1)
        return out.reshape(len(x), WIDTH)


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
    layers: tuple[Layer, ...]

    def __call__(self, texts: Sequence[Sequence[int]]) -> Floats:
        """One vector of length 1 for each text, which is the ids of its word pieces.

        All pieces stand in one matrix, text after text, so nothing is spent on padding.
        """
        ends = np.cumsum([len(ids) for ids in texts]).tolist()
        spans = [*zip([0, *ends], ends, strict=False)]
        places = [place for start, end in spans for place in range(end - start)]
        ids = [piece for text in texts for piece in text]
        x = self.norm(self.words[ids] + self.places[places] + self.kind)
        for layer in self.layers:
            x = layer(x, spans)
        total = np.add.reduceat(x, [start for start, _ in spans], axis=0)
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), np.float32(1e-9))


def built(tensors: Mapping[str, Floats]) -> MiniLM:
    """The model of these weights. Raises Unfit when they are another model's."""
    try:
        model = _built(tensors)
    except KeyError as exc:
        raise Unfit(f"the weights have no {exc.args[0]}") from exc
    if model.words.shape[1:] != (WIDTH,) or f"encoder.layer.{LAYERS}.output.dense.bias" in tensors:
        raise Unfit("the weights are another model's")
    return model


def _built(tensors: Mapping[str, Floats]) -> MiniLM:
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

    return MiniLM(
        tensors["embeddings.word_embeddings.weight"],
        tensors["embeddings.position_embeddings.weight"],
        tensors["embeddings.token_type_embeddings.weight"][0],
        norm("embeddings"),
        tuple(layer(f"encoder.layer.{number}") for number in range(LAYERS)),
    )
