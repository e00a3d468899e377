"""The pipeline `study`: a document to the words worth learning in it, and flashcards of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import DOCX, PDF, TEXT, Output, Source, Tools
from docmill.reading.documents import open_document
from docmill.reading.heartbeat import keep_alive
from docmill.reading.pages import Page, PagedDocument
from docmill.reading.turning import set_upright
from docmill.study.reader import cards, lexicon, prose, senses, tagger, vocabulary, wordnet
from docmill.study.reader.cards import find_examples, keep_verbatim, make_cards
from docmill.study.reader.lexicon import ENGLISH
from docmill.study.reader.prose import Sentence
from docmill.study.reader.vocabulary import VocabularyWord

MAX_WORDS: Final = 100
MIN_WORDS: Final = 20
TEXT_PER_WORD: Final = 40  # of text for each that is learnt of it


@dataclass(frozen=True, slots=True)
class Study:
    name: str = "study"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF, DOCX, TEXT)

    def run(self, source: Source, tools: Tools) -> Output:
        sentences, warnings = _find_sentences(source, tools)
        total = prose.count_words(sentences)
        if not total:
            code = "BAD_PDF" if source.content_type == PDF else "BAD_FILE"
            raise DocmillError(code, "no text", reason="There is no text in it to learn from.")
        tools.progress(50, "counting the words")
        language, share = lexicon.detect_language(prose.lower_words(sentences))
        words = _find_vocabulary(sentences, language, _words_wanted(total), tools)
        tools.progress(85, "choosing examples")
        shown = keep_verbatim([(word, find_examples(word, sentences)) for word in words], MIN_WORDS)
        missing = _warn_of_limits(language)
        if cards.SERVICE in tools.services and shown:
            shown, missing = cards.define_by_model(shown, tools)
        tools.progress(90, "making flashcards")
        made = make_cards(shown)
        tools.progress(100, f"{len(shown)} words, {len(made)} cards")
        return Output(
            {
                "pipeline": self.name,
                "version": self.version,
                "language": _describe_language(language, share),
                "wordCount": total,
                "vocabulary": [_describe_word(word, found) for word, found in shown],
                "flashcards": made,
                "warnings": [*warnings, *missing],
            },
            summary={"title": _find_title(sentences), "note": _count_text(len(shown))},
        )

    def warm(self) -> None:
        """The English data, read before the first document comes."""
        if lexicon.is_installed():
            wordnet.warm_wordnet()
            tagger.load_model()
            senses.warm_embedder()
        lexicon.warm_frequencies(ENGLISH)


def _find_title(sentences: Sequence[Sentence]) -> str:
    return sentences[0].text if sentences else ""


def _count_text(words: int) -> str:
    return "1 word to learn" if words == 1 else f"{words} words to learn"


def _find_sentences(source: Source, tools: Tools) -> tuple[list[Sentence], list[str]]:
    with open_document(source.file, source.content_type, tools) as document:
        pages = _read_pages(document, tools)
        warnings = list(document.warnings)
    tools.progress(30, "finding the sentences")
    with keep_alive(lambda: tools.progress(30, "finding the sentences")):
        found = list(prose.find_sentences(pages, _is_word, wrapped=source.content_type != DOCX))
    return found, warnings


def _read_pages(document: PagedDocument, tools: Tools) -> list[Page]:
    pages: list[Page] = []
    for page in document.pages:
        pages.append(set_upright(page))
        tools.progress(0, f"page {page.number} of {document.page_count}")
    tools.progress(20, f"pages read: {len(pages)}")
    return pages


def _is_word(text: str) -> bool:
    return lexicon.zipf_frequency(text.strip(".,;:!?\"'()“”’"), ENGLISH) > lexicon.UNKNOWN


def _words_wanted(total: int) -> int:
    return min(MAX_WORDS, max(MIN_WORDS, total // TEXT_PER_WORD))


def _find_vocabulary(
    sentences: Sequence[Sentence], language: str, wanted: int, tools: Tools
) -> list[VocabularyWord]:
    with keep_alive(lambda: tools.progress(50, "counting the words")):
        counts = prose.count_forms(sentences, capitals=language in lexicon.CAPITAL_NOUNS)
    tools.progress(70, "looking words up")
    if language == ENGLISH and lexicon.is_installed():
        return vocabulary.find_english_words(sentences, counts, wanted, _report_lookup(tools))
    if language and language != ENGLISH:
        with keep_alive(lambda: tools.progress(70, "reading the word lists")):
            return vocabulary.find_foreign_words(counts, language, wanted)
    return []


def _report_lookup(tools: Tools) -> Callable[[float], None]:
    return lambda share: tools.progress(70, f"looking words up: {share:.0%}")


def _describe_language(code: str, share: float) -> Mapping[str, Any]:
    """`share`: how many of the words speak for it."""
    return {"code": code or None, "name": lexicon.LANGUAGE_NAMES.get(code), "share": share}


def _warn_of_limits(language: str) -> list[str]:
    """What a reader of the result should know it cannot give."""
    if language == ENGLISH:
        if lexicon.is_installed():
            return []
        return ["no dictionary is installed, so no words were looked up; see docs/use.md"]
    if not language:
        return ["the language was not recognised, so no vocabulary was made"]
    name = lexicon.LANGUAGE_NAMES[language]
    return [f"no {name} dictionary: words are ranked by frequency, without definitions"]


def _describe_word(word: VocabularyWord, sentences: Sequence[Sentence]) -> Mapping[str, Any]:
    return {
        "word": word.lemma,
        "lemma": word.lemma,
        "partOfSpeech": word.part or None,
        "definition": word.definition or None,
        "definedBy": word.source or None,
        "confidence": word.confidence,
        "synonyms": list(word.synonyms),
        "level": lexicon.find_band(word.frequency),
        "frequency": word.frequency,
        "count": word.count,
        "score": word.score,
        "forms": list(word.forms),
        "examples": [sentence.text for sentence in sentences],
        "pages": [sentence.page for sentence in sentences],
    }


pipeline: Final = Study()
