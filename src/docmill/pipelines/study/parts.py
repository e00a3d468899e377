"""Each word of an English sentence: which one of the dictionary, as which part of speech."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from docmill.pipelines.study import frequencies, lexicon, tagger, wordnet
from docmill.pipelines.study.languages import ENGLISH
from docmill.pipelines.study.wordnet import Part

ITS_OWN: Final = 0.35  # so much commoner than its singular is a plural that is a word of its own
_DEGREES: Final = frozenset({"how", "so", "very", "too", "quite", "rather", "as", "more", "most"})
_LINKS: Final = frozenset({"is", "was", "were", "be", "been", "seemed", "looked", "felt", "grew"})
_LEADS: Final = frozenset({"DT", "PRP$", "JJ", "POS", "CD"})  # a noun is what follows these
_TAGS: Final[Mapping[str, Part]] = {
    "NN": Part.NOUN,
    "VB": Part.VERB,
    "JJ": Part.ADJECTIVE,
    "RB": Part.ADVERB,
}
# A participle that the dictionary has only as a verb, or a verb's name that it has as a noun.
_INSTEAD: Final[Mapping[Part, tuple[Part, ...]]] = {
    Part.ADJECTIVE: (Part.VERB,),
    Part.VERB: (),
    Part.NOUN: (Part.VERB,),
    Part.ADVERB: (),
}

Tagged = Sequence[tuple[str, str]]


def found(sentence: str) -> Iterator[tuple[str, str, Part]]:
    """Each form that the dictionary knows as what it is here, with its word and part of speech.

    Not where it is half of a phrase that means something else, as in `in vain`.
    """
    tagged = tagger.tag(sentence)
    for at, (form, _) in enumerate(tagged):
        meant = _lemma(form, _mended(tagged, at))
        if meant and not wordnet.senses(f"{_at(tagged, at - 1)[0].lower()}_{form}", Part.ADVERB):
            yield form, *meant


def _at(tagged: Tagged, at: int) -> tuple[str, str]:
    return tagged[at] if 0 <= at < len(tagged) else ("", "")


def _mended(tagged: Tagged, at: int) -> str:
    """A tag, put right where the tagger, which knows newspapers, is known to go wrong."""
    form, tag = tagged[at]
    if tag in {"NN", "RB"} and _is_adjective(tagged, at):
        return "JJ"
    (_, before), (_, after), (_, beyond) = (_at(tagged, at + by) for by in (-1, 1, 2))
    if tag != "NN" or before in _LEADS:
        return tag
    if form.endswith("ing") and before.startswith("NN") and after in {"TO", "DT", "PRP$"}:
        return "VBG"  # property belonging to them
    listed = after in {",", "CC"} and beyond in {"VB", "VBP"}  # preserve, protect and defend
    return "VB" if listed and _met(form, Part.VERB) >= _met(form, Part.NOUN) else tag


def _is_adjective(tagged: Tagged, at: int) -> bool:
    """Whether what was taken for a noun or an adverb stands where adjectives do."""
    form, tag = tagged[at]
    other = Part.NOUN if tag == "NN" else Part.ADVERB
    more = _met(form, Part.ADJECTIVE) - _met(form, other)
    if not wordnet.senses(form, Part.ADJECTIVE) or more < 0:
        return False
    (before, kind), (_, after) = _at(tagged, at - 1), _at(tagged, at + 1)
    if kind == "CC" and _at(tagged, at - 2)[1] == "JJ" and not after.startswith("NN"):
        return True  # necessary and expedient
    if tag == "RB":
        return before.lower() in _LINKS and more > 0 and not after.startswith(("JJ", "RB", "V"))
    bare = kind in {"NNS", "NNP", "NNPS"} and after in {"IN", "TO"}  # qualifications requisite for
    noted = before == "(" and after == ")"
    described = before.lower() in _DEGREES or after.startswith("NN")
    return bare or (more > 0 and (described or noted))


def _met(form: str, part: Part) -> int:
    return sum(sense.count for sense in wordnet.senses(form, part))


def _lemma(form: str, tag: str) -> tuple[str, Part] | None:
    """The word and part of speech of a form that was tagged, if the dictionary agrees."""
    meant = _TAGS.get(tag[:2])
    if meant is None or tag.startswith(("NNP", "RBR", "RBS")):
        return None
    for part in (meant, *_INSTEAD[meant]):
        if part is not meant and not form.endswith(("ed", "ing", "en", "n", "t")):
            continue
        lemmas = [each for each in wordnet.lemmas(form, part) if wordnet.senses(each, part)]
        if lemmas:
            lemma = _likeliest(lemmas, tag)
            return None if lexicon.is_plain(lemma) else (lemma, part)
    return None


def _likeliest(lemmas: Sequence[str], tag: str) -> str:
    """Of the words a form may be of: `acres` is of acre, but `stairs` is its own word."""
    if tag in {"JJR", "JJS"}:
        return lemmas[-1]
    first, *others = lemmas
    close = [each for each in others if each in first or first in each]
    own = {first: ITS_OWN} if tag == "NNS" and first.endswith("s") else {}
    return max(
        [first, *close], key=lambda each: frequencies.zipf(each, ENGLISH) - own.get(each, 0.0)
    )
