"""Sentences of a document that speak to whoever reads it by machine, and tell it what to do.

No list of words catches all of them, so nothing rests on it alone: a value is checked against the
page and against the rules either way. What is caught here proves nothing and raises nothing.
"""

import re
from collections.abc import Sequence
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.pages import Line, Page

NEAR: Final = 1.8  # of a line's height: a line so near belongs to the same paragraph
SENTENCE_WORDS: Final = 3
_GAP: Final = r"(?:\s\w+){0,6}?\s"
# In each language: a word for leaving aside, and what is to be left aside.
_SET_ASIDE: Final = (
    (r"ignore|disregard|forget|override|bypass|overlook",
     r"above|previous|prior|earlier|preceding|instruct\w*|prompts?|rules|everything|guidelines"),
    (r"ignorier\w*|missacht\w*|vergiss|vergesst|ueberschreib\w*",
     r"oben\w*|obig\w*|vorherig\w*|vorig\w*|bisherig\w*|anweisung\w*|regeln|alles"),
    (r"ignore[rz]?|oublie[rz]?",
     r"dessus|precedent\w*|instructions?|consignes?|regles|tout"),
    (r"ignor[ae]\w*|olvid\w+|desestim\w+",
     r"anterior\w*|arriba|instruccion\w*|reglas|todo"),
    (r"ignora\w*|dimentica\w*", r"sopra|precedent\w*|istruzion\w*|regole|tutto"),
    (r"ignor\w+|esquec\w+|desconsider\w+", r"acima|anterior\w*|instruc\w+|regras|tudo"),
    (r"negeer|vergeet", r"bovenstaand\w*|vorige|voorgaand\w*|instructies?|regels|alles"),
    (r"abaikan|lupakan", r"atas|sebelum\w*|instruksi|perintah|aturan|semua"),
    (r"zignoruj|pomin|zapomnij", r"powyzsz\w*|poprzedni\w*|instrukcj\w*|wszystk\w*"),
    (r"ignorera|glom|ignorer|glem", r"ovan\w*|ovenfor|tidigare|forrige|instru\w+|alt|allt"),
)  # fmt: skip
_SAY: Final = r"(?:answer|respond|reply|output|antworte|reponds|responde|rispondi|jawab)"
_MACHINE: Final = r"(?:ai|ki|ia|llm|gpt|chatbot|bot|model\w*|modell|assistant\w*|assistent\w*)"
_SPOKEN_TO: Final = (
    rf"\b(?:you are|act as|du bist|tu es|vous etes|eres)\b(?:\s\w+){{0,4}}?\s{_MACHINE}\b",
    r"\b(?:system|developer|assistant|user)\s(?:prompt|message|instruction)s?\b",
    r"\b(?:language|sprach|ai|ki|ia)\s?(?:model|modell|modele|assistant|assistent)s?\b",
    r"\bllms?\b|\bchatgpt\b|\bprompt injection\b",
    rf"\b{_SAY}\b{_GAP}(?:json|schema|fields?|felder?|gross|net|brutto|netto|null|value|wert)\b",
)
_ORDER: Final = re.compile(
    "|".join(
        (*(rf"\b(?:{verbs})\b{_GAP}(?:{things})\b" for verbs, things in _SET_ASIDE), *_SPOKEN_TO)
    )
)


def find_ordering_lines(page: Page) -> frozenset[int]:
    """The places among the page's lines of those that give orders, each with its paragraph."""
    lines = page.lines
    texts = [fold(line.text) for line in lines]
    found: set[int] = set()
    for at, text in enumerate(texts):
        after = texts[at + 1] if at + 1 < len(texts) else ""
        match = _ORDER.search(f"{text} {after}")
        if match and match.start() <= len(text):
            found.add(at)
            found |= {at + 1} if match.end() > len(text) else set()
    for step in (1, -1):
        for at in sorted(found, reverse=step < 0):
            found |= _follow_paragraph(lines, at, step)
    return frozenset(found)


def _follow_paragraph(lines: Sequence[Line], at: int, step: int) -> set[int]:
    """The lines of running text that go on from one, down or up."""
    found: set[int] = set()
    here = at + step
    while 0 <= here < len(lines) and _continues(lines[here - step], lines[here]):
        found.add(here)
        here += step
    return found


def _continues(one: Line, other: Line) -> bool:
    near = abs(other.box.middle - one.box.middle) <= NEAR * one.box.height
    return near and one.box.shares_width(other.box) and count_words(other.text) >= SENTENCE_WORDS


def count_words(text: str) -> int:
    """Words of two letters or more that hold no figure."""
    return sum(len(word) > 1 and word.isalpha() for word in text.replace(",", " ").split())
