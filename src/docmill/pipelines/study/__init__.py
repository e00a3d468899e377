"""The pipeline `study`: a document to the words worth learning in it, and flashcards of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import DOCX, PDF, TEXT, Output, Source, Tools
from docmill.pipelines.study import (
    asking,
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
from docmill.pipelines.study.examples import as_written, examples
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
        sentences, warnings = _sentences(source, tools)
        total = counting.word_count(sentences)
        if not total:
            raise Faulted("BAD_PDF" if source.content_type == PDF else "BAD_FILE", "no text")
        tools.progress(50, "counting the words")
        language, share = languages.detect(counting.small_words(sentences))
        words = _vocabulary(sentences, language, _wanted(total), tools)
        tools.progress(85, "choosing examples")
        shown = as_written([(word, examples(word, sentences)) for word in words], LEAST)
        missing = _limits(language)
        if asking.SERVICE in tools.services and shown:
            shown, missing = asking.defined(shown, tools)
        tools.progress(90, "making flashcards")
        made = cards(shown)
        tools.progress(100, f"{len(shown)} words, {len(made)} cards")
        return Output(
            {
                "pipeline": self.name,
                "version": self.version,
                "language": _language(language, share),
                "wordCount": total,
                "vocabulary": [_entry(word, found) for word, found in shown],
                "flashcards": made,
                "warnings": [*warnings, *missing],
            }
        )

    def warm(self) -> None:
        """The English data, read before the first document comes."""
        if carrier.installed():
            wordnet.warm()
            tagger.model()
        frequencies.warm(ENGLISH)


def _sentences(source: Source, tools: Tools) -> tuple[list[Sentence], list[str]]:
    with open_document(source.file, source.content_type, tools) as document:
        pages = _read(document, tools)
        warnings = list(document.warnings)
    tools.progress(30, "finding the sentences")
    found = prose.sentences(pages, _is_word, wrapped=source.content_type != DOCX)
    return list(found), warnings


def _read(document: Document, tools: Tools) -> list[Page]:
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 20 * page.number // max(document.page_count, page.number)
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    tools.progress(20, f"pages read: {len(pages)}")
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


def _language(code: str, share: float) -> Mapping[str, Any]:
    """`share`: how many of the words speak for it."""
    return {"code": code or None, "name": languages.NAMES.get(code), "share": share}


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
    return {
        "word": word.lemma,
        "lemma": word.lemma,
        "partOfSpeech": word.part or None,
        "definition": word.definition or None,
        "definedBy": word.source or None,
        "confidence": word.confidence,
        "synonyms": list(word.synonyms),
        "level": frequencies.band(word.frequency),
        "frequency": word.frequency,
        "count": word.count,
        "score": word.score,
        "forms": list(word.forms),
        "examples": [sentence.text for sentence in sentences],
        "pages": [sentence.page for sentence in sentences],
    }


pipeline: Final = Study()
