"""The words of documents: one file per language, and a language more is a file more."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docmill.reading import lexicon
from docmill.reading.labels import fold, fold_accents, squeeze

HERE = Path(lexicon.__file__).parent
# A language that nobody speaks: enough of it to read an invoice by.
MADE_UP = """\
# Zorbish
invoice\tpaper_word\tzorbik
invoice\tno\tkrel
invoice\tday\tmuntu
invoice\tdue\tploma hast
invoice\tbuyer\tvandu
invoice\tseller\tmerka
invoice column\tdescription\tdinga
invoice column\tquantity\tkwano
invoice column\tunit_price\tprenu
invoice column\tamount\tsomma
invoice amount\tnet\tnutta
invoice amount\ttax\ttrib
invoice amount\tgross\tholum
trade\tbuy\tgrabado
word\tinvoice\tzorbik
month\t3\tmarzel
"""
INVOICE = """\
Merka
Blue Harbour Ltd

Zorbik krel: ZB-4711
Zorbik muntu: 14 Marzel 2025
Ploma hast: 28 Marzel 2025

Vandu
Green Valley GmbH

Dinga                 Kwano      Prenu       Somma
Copper pipe           4          25.00       100.00
Brass valve           2          50.00       100.00

Nutta                                        200.00
Trib 10 %                                     20.00
Holum                                        220.00 EUR
"""
READ = """
import io, json, sys
from pathlib import Path
from docmill.reading import lexicon
lexicon.FOLDER = Path(sys.argv[1])
from docmill.invoices.reader import read_invoice
from docmill.invoices.reader.layout import make_sheet
from docmill.reading.documents import open_document
from docmill.trades.reader.lexicon import BUY
with open_document(io.BytesIO(sys.stdin.buffer.read()), "text/plain") as document:
    invoice = read_invoice(make_sheet(document.pages))
found = {path: value.value for path, value in invoice.values.items()}
print(json.dumps({
    "number": found.get("invoice_number"),
    "issued": found.get("issue_date"),
    "due": found.get("due_date"),
    "seller": found.get("seller.name"),
    "buyer": found.get("buyer.name"),
    "lines": len(invoice.lines),
    "gross": found.get("totals.gross"),
    "buy": bool(BUY.search("grabado 10")),
}))
"""


@pytest.mark.parametrize("topic", ["invoice", "invoice amount", "invoice stem", "invoice name"])
def test_every_phrase_of_a_topic_compiles(topic: str) -> None:
    words = lexicon.lexicon()
    for concept in words.names(topic):
        re.compile(words.pattern(topic, concept))
        re.compile(words.pattern(topic, concept, squeezed=True))


def test_a_letter_with_a_mark_matches_with_and_without_it() -> None:
    words = lexicon.Lexicon({("t", "c"): ("stück", "\\éch\\éance")})
    pattern = re.compile(words.pattern("t", "c"))
    assert all(pattern.fullmatch(way) for way in ("stück", "stuck", "stueck", "stck", "échéance"))
    assert not pattern.fullmatch("chance")


def test_a_short_word_keeps_its_letters() -> None:
    words = lexicon.lexicon().pattern("invoice", "paper_word", squeezed=True)
    assert re.fullmatch(words, "ucet")
    assert not re.fullmatch(words, "et")


def test_phrases_are_made_of_others_and_the_longest_is_found() -> None:
    words = lexicon.Lexicon({("t", "no"): ("nr", "number"), ("t", "c"): ("net", "net {no}", "bi*")})
    pattern = re.compile(words.pattern("t", "c"))
    assert [match[0] for match in pattern.finditer("net number bills")] == ["net number", "bills"]
    assert re.fullmatch(words.pattern("t", "c", squeezed=True), "netnr")


@pytest.mark.parametrize("line", ["invoice\tpaper", "invoice\t\tbill", "no tabs at all"])
def test_a_row_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "xx.tsv").write_text(f"# comment\n{line}\n")
    with pytest.raises(ValueError, match=r"xx\.tsv:2"):
        lexicon.load(tmp_path)


def test_labels_are_compared_folded() -> None:
    assert fold("Rechnungs-Nr.:  Größe") == "rechnungs nr grosse"
    assert fold("St\ufffdck k\xf8b 5%", "%") == "stck kob 5%"
    assert squeeze("Invoice No. #") == "invoiceno#"
    assert fold_accents("ÉCHÉANCE 年") == "echeance 年"


def _read(folder: Path) -> str:
    command = [sys.executable, "-c", READ, str(folder)]
    done = subprocess.run(command, input=INVOICE.encode(), capture_output=True, check=True)
    return done.stdout.decode()


def test_a_language_is_added_by_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "lexicon"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    assert '"number": null' in _read(folder)
    (folder / "zo.tsv").write_text(MADE_UP)
    assert _read(folder) == (
        '{"number": "ZB-4711", "issued": "2025-03-14", "due": "2025-03-28",'
        ' "seller": "Blue Harbour Ltd", "buyer": "Green Valley GmbH", "lines": 2,'
        ' "gross": "220.00", "buy": true}\n'
    )
