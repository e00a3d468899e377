"""Parts of speech of English words in a sentence, by an averaged perceptron and its weights."""

import io
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

from docmill.study.reader import lexicon, wordnet
from docmill.study.reader.lexicon import ENGLISH
from docmill.study.reader.wordnet import PartOfSpeech

# Contractions fall apart as the tagger knows them: do n't, she 's.
_TOKEN: Final = re.compile(
    r"[^\W_]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|[^\W_]+(?:[-'’][^\W_]+)*?(?=['’](?:s|re"
    r"|ve|ll|d|m)\b)|[^\W_]+(?:[-'’.][^\W_]+)*|\.{3}|[^\w\s]",
    re.IGNORECASE,
)
_QUOTES: Final = {"“": "``", "”": "''", '"': "''", "’": "'", "‘": "`", "—": ":", "–": ":", "…": ":"}
_START: Final = ("-START-", "-START2-")
_END: Final = ("-END-", "-END2-")

Weights = Mapping[str, Mapping[str, float]]


class _TaggerModel(NamedTuple):
    weights: Weights
    certain: Mapping[str, str]
    tags: tuple[str, ...]


class _PlainUnpickler(pickle.Unpickler):
    """Numbers, text and their containers: a file of data must not be able to call anything."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("__builtin__", "set"):
            return set
        raise pickle.UnpicklingError(f"{module_name}.{global_name} in a file of numbers")


def unpickle_plain(packed: bytes) -> Any:
    """What is in such a file. Raises UnpicklingError for anything but plain data."""
    return _PlainUnpickler(io.BytesIO(packed)).load()


@cache
def load_model() -> _TaggerModel:
    name = "averaged_perceptron_tagger.pickle"
    packed = lexicon.read_members("taggers/averaged_perceptron_tagger.zip", (name,))[name]
    weights, certain, tags = cast(
        "tuple[Weights, Mapping[str, str], set[str]]", unpickle_plain(packed)
    )
    return _TaggerModel(weights, certain, tuple(sorted(tags)))


def split_tokens(sentence: str) -> list[str]:
    return [found.group().replace("’", "'") for found in _TOKEN.finditer(sentence)]


def tag_sentence(sentence: str) -> list[tuple[str, str]]:
    """Each token with its Penn Treebank tag."""
    known, words = load_model(), split_tokens(sentence)
    around = [*_START, *map(_shape_of, words), *_END]
    last, before_last = _START
    tagged: list[tuple[str, str]] = []
    for at, word in enumerate(words):
        found = known.certain.get(word)
        if found is None:
            tags = (last, before_last)
            found = _best_tag(known, _make_features(at + 2, _QUOTES.get(word, word), around, tags))
        tagged.append((word, found))
        last, before_last = found, last
    return tagged


def _shape_of(word: str) -> str:
    """Kinds of numbers look alike."""
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit():
        return "!YEAR" if len(word) == 4 else "!DIGITS"
    return "!DIGITS" if word[0].isdigit() else _QUOTES.get(word, word).lower()


def _make_features(
    at: int, word: str, around: Sequence[str], tags: tuple[str, str]
) -> tuple[str, ...]:
    last, before_last = tags
    return (
        "bias",
        f"i suffix {word[-3:]}",
        f"i pref1 {word[0]}",
        f"i-1 tag {last}",
        f"i-2 tag {before_last}",
        f"i tag+i-2 tag {last} {before_last}",
        f"i word {around[at]}",
        f"i-1 tag+i word {last} {around[at]}",
        f"i-1 word {around[at - 1]}",
        f"i-1 suffix {around[at - 1][-3:]}",
        f"i-2 word {around[at - 2]}",
        f"i+1 word {around[at + 1]}",
        f"i+1 suffix {around[at + 1][-3:]}",
        f"i+2 word {around[at + 2]}",
    )


def _best_tag(known: _TaggerModel, features: Sequence[str]) -> str:
    scores = dict.fromkeys(known.tags, 0.0)
    for feature in features:
        for found, weight in known.weights.get(feature, {}).items():
            scores[found] += weight
    return max(known.tags, key=lambda each: (scores[each], each))


ITS_OWN: Final = 0.35  # so much commoner than its singular is a plural that is a word of its own
_DEGREES: Final = frozenset({"how", "so", "very", "too", "quite", "rather", "as", "more", "most"})
_LINKS: Final = frozenset({"is", "was", "were", "be", "been", "seemed", "looked", "felt", "grew"})
_LEADS: Final = frozenset({"DT", "PRP$", "JJ", "POS", "CD"})  # a noun is what follows these
_TAGS: Final[Mapping[str, PartOfSpeech]] = {
    "NN": PartOfSpeech.NOUN,
    "VB": PartOfSpeech.VERB,
    "JJ": PartOfSpeech.ADJECTIVE,
    "RB": PartOfSpeech.ADVERB,
}
# A participle that the dictionary has only as a verb, or a verb's name that it has as a noun.
_INSTEAD: Final[Mapping[PartOfSpeech, tuple[PartOfSpeech, ...]]] = {
    PartOfSpeech.ADJECTIVE: (PartOfSpeech.VERB,),
    PartOfSpeech.VERB: (),
    PartOfSpeech.NOUN: (PartOfSpeech.VERB,),
    PartOfSpeech.ADVERB: (),
}

Tagged = Sequence[tuple[str, str]]


def find_words(sentence: str) -> Iterator[tuple[str, str, PartOfSpeech]]:
    """Each form that the dictionary knows as what it is here, with its word and part of speech.

    Not where it is half of a phrase that means something else, as in `in vain`.
    """
    tagged = tag_sentence(sentence)
    for at, (form, _) in enumerate(tagged):
        meant = _choose_lemma(form, _mend_tag(tagged, at))
        if meant and not wordnet.find_senses(
            f"{_tag_at(tagged, at - 1)[0].lower()}_{form}", PartOfSpeech.ADVERB
        ):
            yield form, *meant


def _tag_at(tagged: Tagged, at: int) -> tuple[str, str]:
    return tagged[at] if 0 <= at < len(tagged) else ("", "")


def _mend_tag(tagged: Tagged, at: int) -> str:
    """A tag, put right where the tagger, which knows newspapers, is known to go wrong."""
    form, tag = tagged[at]
    if tag in {"NN", "RB"} and _is_adjective(tagged, at):
        return "JJ"
    (_, before), (_, after), (_, beyond) = (_tag_at(tagged, at + by) for by in (-1, 1, 2))
    if tag != "NN" or before in _LEADS:
        return tag
    if form.endswith("ing") and before.startswith("NN") and after in {"TO", "DT", "PRP$"}:
        return "VBG"  # property belonging to them
    listed = after in {",", "CC"} and beyond in {"VB", "VBP"}  # preserve, protect and defend
    return (
        "VB"
        if listed and _count_met(form, PartOfSpeech.VERB) >= _count_met(form, PartOfSpeech.NOUN)
        else tag
    )


def _is_adjective(tagged: Tagged, at: int) -> bool:
    """Whether what was taken for a noun or an adverb stands where adjectives do."""
    form, tag = tagged[at]
    other = PartOfSpeech.NOUN if tag == "NN" else PartOfSpeech.ADVERB
    more = _count_met(form, PartOfSpeech.ADJECTIVE) - _count_met(form, other)
    if not wordnet.find_senses(form, PartOfSpeech.ADJECTIVE) or more < 0:
        return False
    (before, kind), (_, after) = _tag_at(tagged, at - 1), _tag_at(tagged, at + 1)
    if kind == "CC" and _tag_at(tagged, at - 2)[1] == "JJ" and not after.startswith("NN"):
        return True  # necessary and expedient
    if tag == "RB":
        return before.lower() in _LINKS and more > 0 and not after.startswith(("JJ", "RB", "V"))
    bare = kind in {"NNS", "NNP", "NNPS"} and after in {"IN", "TO"}  # qualifications requisite for
    noted = before == "(" and after == ")"
    described = before.lower() in _DEGREES or after.startswith("NN")
    return bare or (more > 0 and (described or noted))


def _count_met(form: str, part: PartOfSpeech) -> int:
    return sum(sense.count for sense in wordnet.find_senses(form, part))


def _choose_lemma(form: str, tag: str) -> tuple[str, PartOfSpeech] | None:
    """The word and part of speech of a form that was tagged, if the dictionary agrees."""
    meant = _TAGS.get(tag[:2])
    if meant is None or tag.startswith(("NNP", "RBR", "RBS")):
        return None
    for part in (meant, *_INSTEAD[meant]):
        if part is not meant and not form.endswith(("ed", "ing", "en", "n", "t")):
            continue
        lemmas = [
            each for each in wordnet.find_lemmas(form, part) if wordnet.find_senses(each, part)
        ]
        if lemmas:
            lemma = _choose_likeliest(lemmas, tag)
            return None if lexicon.is_plain(lemma) else (lemma, part)
    return None


def _choose_likeliest(lemmas: Sequence[str], tag: str) -> str:
    """Of the words a form may be of: `acres` is of acre, but `stairs` is its own word."""
    if tag in {"JJR", "JJS"}:
        return lemmas[-1]
    first, *others = lemmas
    close = [each for each in others if each in first or first in each]
    own = {first: ITS_OWN} if tag == "NNS" and first.endswith("s") else {}
    return max(
        [first, *close], key=lambda each: lexicon.zipf_frequency(each, ENGLISH) - own.get(each, 0.0)
    )
