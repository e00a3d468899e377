"""Mapping files: what is wrong is told with its line, and what is allowed there."""

from pathlib import Path

import pytest

from docmill.core.faults import DocmillError
from docmill.invoices import formats
from docmill.invoices.formats.language import MappingError, build_mapping

HEAD = 'mapping test_v1 {title = "A test"}\n'
TWICE = 'namespace a {uri = "u"}\nnamespace a {uri = "u"}\nA {constant = "x"}'
BELOW = 'A {constant = "x"}\n  @b {constant = "y"}\n    @c {constant = ""}'
SAME = 'A {constant = "x"}\n  @b {constant = ""}\n  @b {constant = ""}'
BROKEN = {
    "nothing at all": ("", 1, "begins the file"),
    "no root": (HEAD, 1, "exactly one root"),
    "two roots": (HEAD + 'A {constant = ""}\nB {constant = ""}', 3, "exactly one root"),
    "two headers": (HEAD + HEAD + 'A {constant = ""}', 2, "one line 'mapping NAME"),
    "no version": ('mapping test {title = "A"}\nA {constant = ""}', 1, "end in a version"),
    "no title": ('mapping test_v1\nA {constant = ""}', 1, "title is missing"),
    "a header key": ('mapping a_v1 {title = "A", emty = "keep"}\nA {constant = ""}', 1,
                     "did you mean 'empty'?"),
    "a checker": ('mapping a_v1 {title = "A", checker = "xrechnung"}\nA {constant = ""}', 1,
                  "allowed: cii, coretax, ubl"),
    "a late header": ('A {constant = ""}\n' + HEAD, 2, "come first"),
    "a tab": (HEAD + 'A\n\tB {constant = ""}', 3, "something else than spaces"),
    "three spaces": (HEAD + 'A\n   B {constant = ""}', 3, "indented by 3 spaces; every step is 2"),
    "a jump": (HEAD + 'A\n    B {constant = ""}', 3, "indented too far"),
    "no braces": (HEAD + 'A path = "currency"', 2, "keys stand in braces"),
    "open braces": (HEAD + 'A {path = "currency"', 2, "the keys can't be read"),
    "a key twice": (HEAD + 'A {path = "currency", path = "currency"}', 2, "the keys can't be read"),
    "a strange name": (HEAD + 'A<B {constant = ""}', 2, "not a line of a mapping"),
    "an unknown key": (HEAD + 'A {pfad = "currency"}', 2, "there is no key 'pfad'"),
    "a near key": (HEAD + 'A {constnt = "x"}', 2, "did you mean 'constant'?"),
    "a key's type": (HEAD + "A {constant = 5}", 2, "constant is a text in quotes"),
    "required": (HEAD + 'A {path = "currency", required = "yes"}', 2, "required is true or false"),
    "a path's type": (HEAD + "A {path = 5}", 2, "path is a text in quotes, or a list"),
    "an empty path": (HEAD + "A {path = []}", 2, "path is a text in quotes, or a list"),
    "an unknown path": (HEAD + 'A {path = "seller.nmae"}', 2, "did you mean 'seller.name'?"),
    "an unknown profile": (HEAD + 'A {path = "profile.password"}', 2, "there is no path"),
    "a lost dot": (HEAD + 'A {path = ".amount"}', 2, "no repeat gives it an item"),
    "a line's path": (HEAD + 'A\n  B {repeat = "lines"}\n    C {path = ".amuont"}', 4,
                      "did you mean '.amount'?"),
    "a function": (HEAD + 'A {compute = "totl_net"}', 2, "did you mean 'total_net'?"),
    "rows as a value": (HEAD + 'A {compute = "vat_groups"}', 2, "there is no function"),
    "a condition": (HEAD + 'A {constant = "x", when = "seller_vat()"}', 2, "'seller_vat_id'"),
    "a condition's path": (HEAD + 'A {constant = "x", when = "not due"}', 2, "no path 'due'"),
    "a format": (HEAD + 'A {path = "currency", format = "ammount"}', 2, "did you mean 'amount'?"),
    "a repeat": (HEAD + 'A\n  B {repeat = "line"}\n    C {constant = "x"}', 3, "mean 'lines'?"),
    "reads": (HEAD + 'A {constant = "x", reads = "profile.tin"}', 2, "there is no path"),
    "two sources": (HEAD + 'A {path = "currency", constant = "x"}', 2, "comes from one place only"),
    "value and parts": (HEAD + 'A {constant = "x"}\n  B {constant = "y"}', 2, "not both"),
    "no value": (HEAD + "A\n  B", 3, "no value: give one of path, constant, compute"),
    "a prefix": (HEAD + 'x:A {constant = "x"}', 2, "prefix 'x' is not declared; declared: none"),
    "a namespace twice": (HEAD + TWICE, 3, "declared twice"),
    "a namespace's address": (HEAD + 'namespace a\nA {constant = "x"}', 2, "has an address"),
    "an attribute's parts": (HEAD + BELOW, 3, "nothing stands below it"),
    "an attribute twice": (HEAD + SAME, 2, "same attribute twice"),
    "a repeated root": (HEAD + 'A {repeat = "lines"}\n  B {path = ".unit"}', 2, "the root is"),
    "a late attribute": (HEAD + 'A\n  B {constant = ""}\n  @b {constant = ""}', 2, "before"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_with_its_line_and_what_is_allowed(name: str) -> None:
    text, number, says = BROKEN[name]
    with pytest.raises(MappingError) as caught:
        build_mapping(text, "test_v1.mapping")
    found = [(each.line, each.says) for each in caught.value.troubles]
    assert any(at == number and says in told for at, told in found), found
    assert f"test_v1.mapping:{number}: " in str(caught.value)


def test_all_troubles_are_told_at_once() -> None:
    text = HEAD + 'A\n  B {compute = "x"}\n  C {path = "y"}\n'
    with pytest.raises(MappingError) as caught:
        build_mapping(text, "test_v1.mapping")
    assert [each.line for each in caught.value.troubles] == [3, 4]


def test_ours_are_without_trouble_and_know_their_version() -> None:
    assert formats.list_names() == ("cii_invoice_v1", "pt_simon_invoice_v1", "ubl_invoice_v1")
    for name in formats.list_names():
        mapping = formats.load(name)
        assert (mapping.name, mapping.version) == (name, 1)
        assert mapping.title
        assert mapping.is_bulk is (name == formats.DEFAULT)
        assert formats.load(name) is mapping


def test_an_unknown_name_is_a_fault_that_lists_the_known_ones() -> None:
    with pytest.raises(DocmillError, match="known: cii_invoice_v1, pt_simon") as caught:
        formats.load("../../etc/passwd")
    assert caught.value.fault.code == "UNKNOWN_MAPPING"


def test_a_file_is_called_like_its_mapping_and_is_utf8(tmp_path: Path) -> None:
    file = tmp_path / "other_v1.mapping"
    file.write_text(HEAD + 'A {constant = "x"}')
    with pytest.raises(MappingError, match=r"other_v1.mapping:1: .* is called test_v1.mapping"):
        formats.load_file(file)
    file.write_bytes(b"mapping other_v1\n\xff")
    with pytest.raises(MappingError, match=r"other_v1.mapping:2: is not UTF-8"):
        formats.load_file(file)


def test_a_mapping_of_ones_own_writes_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "own_v2.mapping"
    file.write_text(
        'mapping own_v2 {title = "Own"}\n'
        'namespace n {uri = "urn:n"}\n'
        "n:Doc # a comment\n"
        '  @id {path = ["invoice_number", "due_date"]}\n'
        '  Late {constant = "yes", when = "due_date"}\n'
        '  Never {constant = "no", when = "not due_date"}\n'
        '  Row {repeat = "lines"}\n'
        '    What {path = ".description"}\n'
        '    Sum {path = ".amount", format = "amount"}\n'
    )
    mapping = formats.load_file(file)
    invoice = {"due_date": "2025-01-31", "lines": [{"description": "a", "amount": "1.5"}, {}]}
    made = formats.emit(mapping, invoice)
    assert made.xml.splitlines()[1] == (
        b'<n:Doc xmlns:n="urn:n" id="2025-01-31"><Late>yes</Late>'
        b"<Row><What>a</What><Sum>1.50</Sum></Row></n:Doc>"
    )
    found = formats.read_back(mapping, made.xml)
    assert found["lines"] == [{"description": "a", "amount": "1.50"}]
