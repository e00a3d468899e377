"""The words of a text: how often each form stands in it, where, and whether it is a name."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.study.prose import Sentence

PLACES: Final = 24  # of a word are remembered: more say nothing new
WORD: Final = re.compile(r"(?<![\w'’.@/])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w@/])")
_COUNTED: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Count:
    """One form of a word. `named`: how often it had a capital, and not as a sentence's first."""

    form: str
    plain: int
    named: int
    places: tuple[int, ...]

    @property
    def is_name(self) -> bool:
        """Or part of names and titles often enough to be taken for one."""
        return 2 * self.named >= self.plain


def word_count(sentences: Sequence[Sentence]) -> int:
    return sum(
        _COUNTED.search(word) is not None for each in sentences for word in each.text.split()
    )


def small_words(sentences: Sequence[Sentence]) -> Iterator[str]:
    """All words in small letters, for finding out the language."""
    return (word.lower() for each in sentences for word in WORD.findall(each.text))


def forms(sentences: Sequence[Sentence], *, capitals: bool = False) -> Mapping[str, Count]:
    """The forms that stand in small letters. `capitals`: nouns do not, as in German."""
    plain: Counter[str] = Counter()
    named: Counter[str] = Counter()
    places: dict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        if not capitals and _shouted(sentence.text):
            continue
        for at, found in enumerate(WORD.finditer(sentence.text)):
            word = found.group()
            if word.islower() or (capitals and at and _is_noun(sentence.text, found)):
                plain[word] += 1
                _remember(places[word], number)
            elif at:
                named[word if capitals else word.lower()] += 1
    return {form: Count(form, plain[form], named[form], tuple(places[form])) for form in plain}


def _is_noun(text: str, found: re.Match[str]) -> bool:
    """Whether a word with a capital is no name: names stand side by side, as nouns do not."""
    before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    last = before.rpartition(" ")[2]
    # The first word of a sentence has a capital whatever it is.
    beside = (last[:1].isupper() and last[-1:].isalpha() and last != before) or (
        after[:1].isupper() and text[found.end() : found.end() + 1] == " "
    )
    return not (found.group().isupper() or beside)


def _remember(places: list[int], number: int) -> None:
    if len(places) < PLACES and number not in places[-1:]:
        places.append(number)


def _shouted(text: str) -> bool:
    """Titles, where capitals say nothing: most words begin with one."""
    words = WORD.findall(text)
    capital = sum(word[0].isupper() for word in words)
    return len(words) > 1 and 2 * capital > len(words) + 1
