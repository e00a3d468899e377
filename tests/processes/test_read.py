"""docmill read, with no server and no database."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import pdfs
from invoice_pdfs import paper
from terminal import Terminal, book, letter


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def result(out: Path, data: bytes) -> dict[str, object]:
    return json.loads((out / f"{hashlib.sha256(data).hexdigest()}.json").read_bytes())


def test_each_file_leaves_a_result_named_by_its_content(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    one, two = letter("Total: 1.00"), letter("Total: 2.00")
    ran = terminal.run(
        "read", "extract", put(tmp_path, "1.pdf", one), put(tmp_path, "2.pdf", two), "--out", out
    )
    assert ran.code == 0
    assert ran.out.startswith("ok 2, failed 0, ")
    assert result(out, one)["pipeline"] == "extract"
    assert "2.00" in json.dumps(result(out, two))
    assert len(list(out.iterdir())) == 2


def test_a_file_that_fails_gets_its_code_and_the_command_goes_on(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    bad, good = pdfs.truncated_pdf(), letter()
    ran = terminal.run(
        "read", "extract", put(tmp_path, "b.pdf", bad), put(tmp_path, "g.pdf", good), "--out", out
    )
    assert ran.code == 0
    assert ran.out.startswith("ok 1, failed 1 (BAD_PDF 1), ")
    error = result(out, bad)["error"]
    assert isinstance(error, dict)
    assert error["code"] == "BAD_PDF"
    assert error["message"] == "This PDF is damaged, locked or empty"


def test_types_are_told_by_content_not_by_name(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    text, binary, empty = b"Total: 3.00\n", bytes(range(256)), b""
    paths = [
        put(tmp_path, "text.pdf", text), put(tmp_path, "b.pdf", binary), put(tmp_path, "e", empty)
    ]  # fmt: skip
    ran = terminal.run("read", "extract", *paths, "--out", out, "--json")
    codes = {Path(row["file"]).name: row["code"] for row in ran.json}
    assert codes == {"text.pdf": "NOT_PDF", "b.pdf": "NOT_PDF", "e": "EMPTY_FILE"}


def test_a_path_that_cannot_be_read_is_named_and_the_others_go_on(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = terminal.run(
        "read", "extract", "missing.pdf", "pipe", put(tmp_path, "g.pdf", letter()), "--out", out
    )  # fmt: skip
    assert ran.code == 1
    assert "missing.pdf: can't be opened: No such file or directory." in ran.err
    assert "pipe: is not a file." in ran.err
    assert ran.out.startswith("ok 1, ")


def test_of_a_folder_everything_is_read_that_the_pipeline_takes(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    (tmp_path / "box" / "inner").mkdir(parents=True)
    put(tmp_path, "box/a.pdf", letter("a"))
    put(tmp_path, "box/inner/b.pdf", letter("b"))
    put(tmp_path, "box/c.txt", b"text")
    ran = terminal.run("read", "extract", tmp_path / "box", "--out", out)
    assert ran.out.startswith("ok 2, failed 0, ")
    assert "1 in folders left out: not .pdf" in ran.err


def test_with_a_mapping_the_xml_lies_beside_the_data(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    data = paper([("1", "Kertas A4", "2", "100.000", "200.000")], [("Total", "200.000")])
    words = ("read", "invoice", put(tmp_path, "i.pdf", data), "--out", out)
    assert terminal.run(*words, "--mapping", "pt_simon_invoice_v1").out.startswith("ok 1, ")
    xml = (out / f"{hashlib.sha256(data).hexdigest()}.xml").read_text()
    assert "<TaxInvoiceBulk" in xml
    assert "<TIN></TIN>" in xml or "<TIN/>" in xml
    told = put(tmp_path, "me.json", b'{"tin": "0012345678901000"}')
    terminal.run(*words, "--mapping", "pt_simon_invoice_v1", "--profile", told)
    assert "<TIN>0012345678901000</TIN>" in next(out.glob("*.xml")).read_text()


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        ("invoice", ("--mapping", "nonsense")),
        ("extract", ("--mapping", "ubl_invoice_v1")),
        ("invoice", ("--profile", "missing.json")),
    ],
)
def test_a_mapping_or_a_profile_that_is_not_there_is_wrong_usage(
    terminal: Terminal, out: Path, pipeline: str, words: tuple[str, str]
) -> None:
    ran = terminal.run("read", pipeline, "a.pdf", "--out", out, *words)
    assert (ran.code, words[0] in ran.err) == (2, True)


def test_an_unknown_pipeline_is_wrong_usage_and_the_known_ones_are_listed(
    terminal: Terminal, out: Path
) -> None:
    ran = terminal.run("read", "nonsense", "a.pdf", "--out", out)
    assert ran.code == 2
    assert "extract" in ran.err
    assert not out.exists()


def test_a_file_that_takes_too_long_is_ended(terminal: Terminal, tmp_path: Path, out: Path) -> None:
    long = put(tmp_path, "long.pdf", book(600))
    ran = terminal.run("read", "extract", long, "--out", out, "--seconds", "1", "--json")
    (row,) = ran.json
    assert row["code"] == "TIMED_OUT"
    assert row["message"].endswith("1 s of CPU (--seconds=1)")


def test_a_folder_that_cannot_be_written_is_told_in_two_lines(
    terminal: Terminal, tmp_path: Path
) -> None:
    put(tmp_path, "taken", b"a file")
    ran = terminal.run("read", "extract", put(tmp_path, "a.pdf", letter()), "--out", "taken")
    assert ran.code == 1
    assert len(ran.err.strip().splitlines()) == 2
    assert "Traceback" not in ran.err


def test_fields_asked_for_are_in_the_result(terminal: Terminal, tmp_path: Path, out: Path) -> None:
    data = letter("Total: EUR 17.50")
    file = put(tmp_path, "a.pdf", data)
    ran = terminal.run("read", "extract", file, "--out", out, "--fields", "total:amount,due:date")
    assert ran.code == 0
    asked: Any = result(out, data)["asked"]
    assert [(name, one["value"]) for name, one in asked.items()] == [
        ("total", "17.50"),
        ("due", None),
    ]


def test_a_bad_question_is_refused_before_anything_is_read(
    terminal: Terminal, tmp_path: Path, out: Path
) -> None:
    file = put(tmp_path, "a.pdf", letter())
    ran = terminal.run("read", "extract", file, "--out", out, "--fields", "total:lots")
    assert ran.code == 2
    assert "there is no type 'lots'" in ran.err
    assert not out.exists()
    ran = terminal.run("read", "trades", file, "--out", out, "--fields", "total")
    assert ran.code == 2
    assert "finds no fields by name" in ran.err
