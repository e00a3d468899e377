"""docmill mapping: rows for people, JSON for programs, XML on standard output alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from docmill.invoices.mapping_commands import mapping_app
from invoice_samples import european, indonesian


def run(*words: str) -> Result:
    return CliRunner().invoke(mapping_app, words)


def written(folder: Path, invoice: dict[str, Any]) -> str:
    file = folder / "invoice.json"
    file.write_text(json.dumps(invoice))
    return str(file)


def test_list_names_every_mapping_and_the_default() -> None:
    told = run("list")
    assert told.exit_code == 0
    assert "pt_simon_invoice_v1   Coretax e-Faktur" in told.stdout
    assert "(default)" in told.stdout
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == [
        "cii_invoice_v1",
        "pt_simon_invoice_v1",
        "ubl_invoice_v1",
    ]


def test_check_tells_every_trouble_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "own_v1.mapping"
    file.write_text('mapping own_v1 {title = "Own"}\nA {path = "seler.name"}\n')
    told = run("check", str(file))
    assert told.exit_code == 1
    assert "own_v1.mapping:2: there is no path 'seler.name'; did you mean" in told.stderr
    assert json.loads(run("check", str(file), "--json").stdout)[0]["line"] == 2
    file.write_text('mapping own_v1 {title = "Own"}\nA {path = "seller.name"}\n')
    told = run("check", str(file))
    assert (told.exit_code, told.stdout) == (0, "own_v1: no troubles\n")
    assert run("check", str(tmp_path / "none")).exit_code == 1


def test_try_prints_the_xml_and_beside_it_what_to_look_at(tmp_path: Path) -> None:
    invoice = indonesian(seller={"name": "PT Simon"})
    told = run("try", "pt_simon_invoice_v1", written(tmp_path, invoice), "--pretty")
    assert told.exit_code == 0
    assert told.stdout.startswith("<?xml")
    assert "\n  <TIN/>\n" in told.stdout
    assert "review   seller.tax_id" in told.stderr
    assert "warning  CT-EMPTY: TIN is empty" in told.stderr


def test_try_takes_the_owners_settings_and_a_file_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"tin": "0011111111111111"}))
    invoice = written(tmp_path, indonesian(seller={"name": "PT Simon"}))
    told = run("try", "pt_simon_invoice_v1", invoice, "--profile", str(own))
    assert "<TIN>0011111111111111</TIN>" in told.stdout
    file = tmp_path / "own_v1.mapping"
    file.write_text('mapping own_v1 {title = "Own"}\nA {path = "buyer.name"}\n')
    assert "<A>PT Budi</A>" in run("try", str(file), invoice).stdout
    own.write_text(json.dumps({"tim": "1"}))
    told = run("try", "pt_simon_invoice_v1", invoice, "--profile", str(own))
    assert told.exit_code == 2
    assert "unknown: tim" in told.stderr


def test_try_fails_when_a_rule_is_broken_and_names_it(tmp_path: Path) -> None:
    told = run("try", "ubl_invoice_v1", written(tmp_path, european(invoice_number=None)), "--json")
    assert told.exit_code == 1
    report = json.loads(told.stdout)
    assert report["review"] == ["invoice_number"]
    assert "BR-02" in {problem["rule"] for problem in report["problems"]}


def test_try_says_why_a_mapping_refuses_an_invoice(tmp_path: Path) -> None:
    told = run("try", "pt_simon_invoice_v1", written(tmp_path, indonesian(currency="USD")))
    assert told.exit_code == 1
    assert "GW_4XX: Couldn't convert with this mapping" in told.stderr
    assert "this invoice is in USD" in told.stderr


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_try_wants_a_json_object(tmp_path: Path, text: str) -> None:
    file = tmp_path / "invoice.json"
    file.write_text(text)
    assert run("try", "ubl_invoice_v1", str(file)).exit_code == 2
