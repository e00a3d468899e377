"""The pipeline `study`: a document to the words worth learning in it, and flashcards of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import DOCX, PDF, TEXT, Output, Source, Tools
from docmill.pipelines.study import (
    carrier,
    counting,
    foreign,
    frequencies,
    languages,
    prose,
    tagger,
    vocabulary,
    wordnet,
)
from docmill.pipelines.study.cards import cards
from docmill.pipelines.study.examples import examples
from docmill.pipelines.study.languages import ENGLISH
from docmill.pipelines.study.prose import Sentence
from docmill.pipelines.study.vocabulary import Word
from docmill.reading.documents import open_document
from docmill.reading.pages import Document, Page

MOST: Final = 100
LEAST: Final = 20
WORDS_A_WORD: Final = 40  # of text for each that is learnt of it


@dataclass(frozen=True, slots=True)
class Study:
    name: str = "study"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF, DOCX, TEXT)

    def run(self, source: Source, tools: Tools) -> Output:
        with open_document(source.file, source.content_type) as document:
            pages = _read(document, tools)
            warnings = list(document.warnings)
        tools.progress(30, "finding the sentences")
        found = prose.sentences(pages, _is_word, wrapped=source.content_type != DOCX)
        sentences = list(found)
        total = counting.word_count(sentences)
        if not total:
            raise Faulted("BAD_PDF" if source.content_type == PDF else "BAD_FILE", "no text")
        tools.progress(50, "counting the words")
        language, share = languages.detect(counting.small_words(sentences))
        words = _vocabulary(sentences, language, _wanted(total), tools)
        tools.progress(85, "choosing examples")
        shown = [(word, examples(word, sentences)) for word in words]
        tools.progress(90, "making flashcards")
        made = cards(shown)
        data = {
            "pipeline": self.name,
            "version": self.version,
            "language": {
                "code": language or None,
                "name": languages.NAMES.get(language),
                "share": share,
            },
            "dictionary": _dictionary(language),
            "wordCount": total,
            "vocabulary": [_entry(word, found) for word, found in shown],
            "flashcards": made,
            "warnings": [*warnings, *_limits(language)],
        }
        tools.progress(100, f"{len(shown)} words, {len(made)} cards")
        return Output(data)

    def warm(self) -> None:
        """The English data, read before the first document comes."""
        if carrier.installed():
            wordnet.warm()
            tagger.model()
        frequencies.warm(ENGLISH)


def _read(document: Document, tools: Tools) -> list[Page]:
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 20 * page.number // max(document.page_count, page.number)
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    tools.progress(20, f"{len(pages)} pages read")
    return pages


def _is_word(text: str) -> bool:
    return frequencies.zipf(text.strip(".,;:!?\"'()“”’"), ENGLISH) > frequencies.UNKNOWN


def _wanted(total: int) -> int:
    return min(MOST, max(LEAST, total // WORDS_A_WORD))


def _vocabulary(
    sentences: Sequence[Sentence], language: str, wanted: int, tools: Tools
) -> list[Word]:
    counts = counting.forms(sentences, capitals=language in languages.CAPITAL_NOUNS)
    tools.progress(70, "looking words up")
    if language == ENGLISH and carrier.installed():
        return vocabulary.english(sentences, counts, wanted, _alive(tools))
    if language and language != ENGLISH:
        return foreign.words(counts, language, wanted)
    return []


def _alive(tools: Tools) -> Callable[[float], None]:
    return lambda share: tools.progress(70 + int(15 * share), "looking words up")


def _dictionary(language: str) -> str | None:
    return wordnet.NAME if language == ENGLISH and carrier.installed() else None


def _limits(language: str) -> list[str]:
    """What a reader of the result should know it cannot give."""
    if language == ENGLISH:
        if carrier.installed():
            return []
        return ["no dictionary is installed, so no words were looked up; see docs/use.md"]
    if not language:
        return ["the language was not recognised, so no vocabulary was made"]
    name = languages.NAMES[language]
    return [f"no {name} dictionary: words are ranked by frequency, without definitions"]


def _entry(word: Word, sentences: Sequence[Sentence]) -> Mapping[str, Any]:
    sense = word.sense
    return {
        "word": word.lemma,
        "lemma": word.lemma,
        "partOfSpeech": word.part or None,
        "definition": sense.definition if sense else None,
        "synonyms": list(sense.synonyms) if sense else [],
        "confidence": word.confidence,
        "level": frequencies.band(word.frequency),
        "frequency": word.frequency,
        "count": word.count,
        "score": word.score,
        "forms": list(word.forms),
        "examples": [sentence.text for sentence in sentences],
        "pages": [sentence.page for sentence in sentences],
    }


pipeline: Final = Study()
