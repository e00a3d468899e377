"""What is used of an analysis by Azure Document Intelligence: the rest is not kept or passed on."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from pydantic.alias_generators import to_camel

Polygon = Annotated[list[FiniteFloat], Field(min_length=8)]


class Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Span(Part):
    """A piece of the whole text, counted in characters."""

    offset: int
    length: int


class Region(Part):
    page_number: int
    polygon: Polygon


class Word(Part):
    content: str
    polygon: Polygon
    confidence: FiniteFloat = 1.0
    span: Span


class Page(Part):
    page_number: int
    width: Annotated[FiniteFloat, Field(gt=0)]
    height: Annotated[FiniteFloat, Field(gt=0)]
    words: list[Word] = []


class Placed(Part):
    """Text and where it stands."""

    content: str = ""
    bounding_regions: list[Region] = []
    spans: list[Span] = []


class Paragraph(Placed):
    role: str = ""


class Cell(Placed):
    row_index: Annotated[int, Field(ge=0)]
    column_index: Annotated[int, Field(ge=0)]
    row_span: Annotated[int, Field(ge=1)] = 1
    column_span: Annotated[int, Field(ge=1)] = 1


class Table(Part):
    cells: list[Cell]
    bounding_regions: list[Region] = []
    spans: list[Span] = []


class Pair(Part):
    key: Placed
    value: Placed | None = None
    confidence: FiniteFloat = 1.0


class Layout(Part):
    pages: list[Page]
    paragraphs: list[Paragraph] = []
    tables: list[Table] = []
    key_value_pairs: list[Pair] = []


class Operation(Part):
    """An analysis under way, or what came of it."""

    status: str
    analyze_result: Layout | None = None
    error: Any = None
