import pytest

from docmill.invoices.reader.amounts import find_role


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("Total Before Tax", "net"),
        ("Total Excl. VAT", "net"),
        ("Zwischensumme (zzgl. MwSt.)", "net"),
        ("Rechnungssumme ohne USt.", "net"),
        ("TOTAL HT", "net"),
        ("Sub Total", "net"),
        ("Total Tax", "tax"),
        ("zzgl. 19,0% MwSt.", "tax"),
        ("PPN 11%", "tax"),
        ("Steuerbetrag in EUR", "tax"),
        ("inkl. 19% MwSt.", "tax"),
        ("Total € Incl. VAT", "gross"),
        ("Summe inkl. USt", "gross"),
        ("Grand Total", "gross"),
        ("Jumlah Tagihan", "gross"),
        ("Rechnungsbetrag brutto", "gross"),
        ("DPP", "base"),
        ("DPP Nilai Lain", "other_base"),
        ("PPh 23 (2%)", "withholding"),
        ("Uang Muka", "paid"),
        ("Erhaltene Anzahlungen", "paid"),
        ("Sisa Tagihan", "due"),
        ("NET A PAYER", "due"),
        ("Balance Due", "due"),
        ("Versandkosten netto", "charge"),
        ("Potongan Harga", "discount"),
        ("Steuer-Nr. 044 241", "other"),
        ("Terbilang", "other"),
        ("TAX INVOICE", "other"),
        ("Carried forward", "carried"),
        ("Subtotal halaman ini", "carried"),
        ("Hans Muster", ""),
    ],
)
def test_a_label_says_what_its_amount_is(label: str, wanted: str) -> None:
    assert find_role(label)[0] == wanted
