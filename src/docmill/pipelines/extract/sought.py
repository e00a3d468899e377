"""Fields somebody asks for, from the first page to the answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from docmill.core.asked import Asked, asked_in
from docmill.core.pipeline import Tools
from docmill.pipelines.extract import telling
from docmill.pipelines.extract.fields import Field
from docmill.pipelines.extract.normal import Customs
from docmill.pipelines.extract.seeking import Answer, Seeker
from docmill.reading.blocks import Block
from docmill.reading.pages import Page

Answers = Sequence[tuple[Asked, Answer]]


class Sought:
    """Sees each page once; keeps of it what may be an answer, and what a model is sent."""

    def __init__(self, asked: Sequence[Asked], *, model: bool) -> None:
        self._asked: Sequence[Asked] = asked
        self._seeker: Seeker = Seeker(asked)
        self._kept: telling.Kept | None = telling.Kept() if model else None

    @classmethod
    def of(cls, options: Mapping[str, Any], tools: Tools) -> Self | None:
        asked = asked_in(options)
        return cls(asked, model=telling.SERVICE in tools.services) if asked else None

    def look(self, page: Page, fields: Sequence[Field], blocks: Sequence[Block]) -> None:
        self._seeker.look(page, fields, blocks)
        if self._kept:
            self._kept.take(page)

    def found(self, customs: Customs, tools: Tools) -> tuple[Answers, list[str]]:
        """Each field with its answer, and what went wrong on the way."""
        answers, warnings = self._seeker.found(customs), list[str]()
        if self._kept and self._kept.pages:
            answers, warnings = telling.told(self._asked, answers, self._kept.pages, tools)
        return list(zip(self._asked, answers, strict=True)), warnings
