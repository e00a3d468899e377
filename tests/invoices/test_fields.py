"""The table of fields: results, titles, edits and mapping files follow from it."""

import pytest

from docmill.invoices.checks import find_doubts
from docmill.invoices.edits import normalize_value
from docmill.invoices.fields import (
    FIELDS,
    LINE_FIELDS,
    InvoiceField,
    find_field,
    is_path,
    list_paths,
    title_of,
    value_at,
)
from docmill.invoices.formats.language import PATHS, fields_inside
from docmill.invoices.reader.model import Invoice, to_json
from docmill.reading.pages import Value

EMPTY = to_json(Invoice({}, ({},)))


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.path)
def test_a_result_names_each_field_that_is_read(field: InvoiceField) -> None:
    found = to_json(Invoice({field.path: Value("1", 0.5)}))
    assert value_at(found, field.path) == "1"
    assert (field.path in list_paths(EMPTY)) is field.read
    assert (field.path in found["evidence"]) is field.read


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.path)
def test_a_person_is_asked_for_what_is_needed_or_in_doubt(field: InvoiceField) -> None:
    assert (field.path in EMPTY["review"]) is field.needed
    unsure = {**EMPTY, "evidence": {field.path: {"confidence": 0.1}}}
    group, _, name = field.path.partition(".")
    unsure[group] = {**EMPTY[group], name: "1"} if name else "1"
    assert (field.path in find_doubts(unsure, {})) is field.doubted


def test_mapping_files_may_name_every_field() -> None:
    assert {field.path for field in FIELDS} <= set(PATHS)
    assert {field.name for field in LINE_FIELDS} <= set(fields_inside("invoice_lines()"))


def test_fields_have_titles_and_can_be_edited() -> None:
    assert title_of("seller.tax_id") == "Seller tax number"
    assert title_of("lines[1].unit_price") == "Line 2: unit price"
    assert (title_of("lines"), title_of("lines[1]")) == ("Lines", "Line 2")
    assert is_path("lines[3].opt")
    assert not is_path("lines[3].colour")
    assert find_field("totals.nothing") is None
    assert normalize_value("lines[0].amount", "1.250,00") == "1250.00"
    assert normalize_value("currency", "eur") == "EUR"
