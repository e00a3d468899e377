"""Whether `study` gives words the meaning they have: python -m eval.score_senses [--show]

`data/senses.json` has words of four public-domain texts with the places of their sentences, the
part of speech and the meanings of the dictionary that somebody who read them would accept. Two of
the texts were looked at when the weights were set, two were not. Packages bring the texts.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docmill.study.reader import senses, tagger
from docmill.study.reader.wordnet import PartOfSpeech
from eval.texts import text_of

TRUTH = Path(__file__).parent / "data" / "senses.json"
WORD = re.compile(r"[a-z]+")
STRAIGHT = str.maketrans("‘’“”", "''\"\"")
PARTS = {part.label: part for part in PartOfSpeech}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="also every word that went wrong")
    given = parser.parse_args()
    texts: Sequence[Any] = json.loads(TRUTH.read_text("utf-8"))["texts"]
    print(f"{'text':52} {'words':>5} {'part':>6} {'meaning':>8}")
    for text in texts:
        whole = text_of(text)
        if whole is None:
            print(f"{text['text'][:52]:52} not measured: its package can't be had")
            continue
        _measure(text, whole.decode().translate(STRAIGHT), show=given.show)


def _measure(text: Mapping[str, Any], whole: str, *, show: bool) -> None:
    words = [
        {**word, "sentences": [" ".join(whole[start:end].split()) for start, end in word["at"]]}
        for word in text["words"]
    ]
    said = sorted({sentence for word in words for sentence in word["sentences"]})
    topic = senses.find_topic(Counter(form for each in said for form in WORD.findall(each)))
    wrong = {word["word"]: _wrong(word, topic) for word in words}
    kinds = Counter(kind for kinds in wrong.values() for kind in kinds)
    name = f"{text['text'][:40]}{' (held out)' if text['held_out'] else ''}"
    shares = [1 - kinds[kind] / len(words) for kind in ("part", "meaning")]
    print(f"{name:52} {len(words):5} {shares[0]:6.1%} {shares[1]:8.1%}")
    for word, found in wrong.items() if show else ():
        for kind, instead in found.items():
            print(f"  {word}: {kind} {instead}")


def _wrong(word: Mapping[str, Any], topic: senses.Topic) -> dict[str, str]:
    wrong: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for sentence in word["sentences"]:
        seen.update(
            part.label for _, lemma, part in tagger.find_words(sentence) if lemma == word["word"]
        )
    if seen and seen.most_common(1)[0][0] != word["part"]:
        wrong["part"] = str(dict(seen))
    chosen = senses.choose_sense(word["word"], PARTS[word["part"]], word["sentences"], topic)
    if chosen.sense.number not in word["senses"]:
        wrong["meaning"] = f"{chosen.sense.number}, not {word['senses']}"
    return wrong


if __name__ == "__main__":
    main()
