"""Factur-X: the original PDF with the invoice as XML inside, as PDF/A-3 where it can be one.

It parses strangers' bytes, so it runs in a confined process; the web asks for it by its address.
"""

import io
import struct
from dataclasses import dataclass
from typing import Final

import pikepdf
from pikepdf import (
    Array,
    AttachedFileSpec,
    Dictionary,
    Name,
    PasswordError,
    Pdf,
    PdfError,
    Stream,
    StreamDecodeLevel,
    String,
)

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Artifact, Output, Source, Tools
from docmill.invoices.archiving import prepare_archive

FILE_NAME: Final = "factur-x.xml"
WRITER: Final = "invoice-hybrid"
MADE_AT: Final = "D:20250101000000Z"  # the same document gives the same file
_XMP: Final = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
{claim}<rdf:Description rdf:about=""
 xmlns:fx="urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#">
<fx:DocumentType>INVOICE</fx:DocumentType><fx:DocumentFileName>factur-x.xml</fx:DocumentFileName>
<fx:Version>1.0</fx:Version><fx:ConformanceLevel>EN 16931</fx:ConformanceLevel></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>fx</pdfaSchema:prefix><pdfaSchema:property><rdf:Seq>{properties}</rdf:Seq>
</pdfaSchema:property></rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description>
</rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
_CLAIM: Final = """<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<pdfaid:part>3</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance></rdf:Description>
"""
_PROPERTY: Final = """<rdf:li rdf:parseType="Resource"><pdfaProperty:name>{0}</pdfaProperty:name>
<pdfaProperty:valueType>Text</pdfaProperty:valueType>
<pdfaProperty:category>external</pdfaProperty:category>
<pdfaProperty:description>{0} of the embedded invoice</pdfaProperty:description></rdf:li>"""
_PROPERTIES: Final = ("DocumentFileName", "DocumentType", "Version", "ConformanceLevel")


@dataclass(frozen=True, slots=True)
class HybridWriter:
    """Give `options["xml"]`: the invoice as CII."""

    name: str = WRITER
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, _tools: Tools) -> Output:
        made = embed_invoice(source.file.read(), str(source.options["xml"]).encode())
        return Output({}, Artifact(made, PDF))


def embed_invoice(document: bytes, xml: bytes) -> bytes:
    """The document with the invoice inside. Raises BAD_PDF where it can't be written again.

    It says that it is PDF/A-3 only where nothing of the original keeps it from being so.
    """
    try:
        with pikepdf.open(io.BytesIO(document)) as pdf:
            obstacles = prepare_archive(pdf)
            _attach(pdf, xml)
            _describe(pdf, claim="" if obstacles else _CLAIM)
            out = io.BytesIO()
            pdf.save(
                out,
                encryption=False,
                deterministic_id=True,
                fix_metadata_version=False,
                force_version="1.7",
                stream_decode_level=StreamDecodeLevel.generalized,
                recompress_flate=False,
            )
            return out.getvalue()
    except (PdfError, PasswordError) as exc:
        reason = "This PDF can't be written again with an XML inside; download the XML alone."
        raise DocmillError("BAD_PDF", type(exc).__name__, reason=reason) from exc


def _attach(pdf: Pdf, xml: bytes) -> None:
    given = AttachedFileSpec(
        pdf,
        xml,
        filename=FILE_NAME,
        description="The invoice as CII",
        mime_type="text/xml",
        creation_date="",
        mod_date=MADE_AT,
    )
    pdf.attachments[FILE_NAME] = given
    found = pdf.attachments[FILE_NAME].obj
    found[Name.AFRelationship] = Name.Alternative
    pdf.Root[Name.AF] = Array([found])


def _describe(pdf: Pdf, *, claim: str) -> None:
    """What PDF/A-3 asks of a file: what it is, and what its colours mean."""
    listed = "".join(_PROPERTY.format(name) for name in _PROPERTIES)
    metadata = Stream(pdf, _XMP.format(claim=claim, properties=listed).encode())
    metadata[Name.Type], metadata[Name.Subtype] = Name.Metadata, Name.XML
    pdf.Root[Name.Metadata] = pdf.make_indirect(metadata)
    if Name.Info in pdf.trailer:
        del pdf.trailer[Name.Info]  # it would have to say the same
    profile = Stream(pdf, make_srgb_profile())
    profile[Name.N] = 3
    intent = Dictionary(
        Type=Name.OutputIntent,
        S=Name.GTS_PDFA1,
        OutputConditionIdentifier=String("sRGB"),
        Info=String("sRGB IEC61966-2.1"),
        DestOutputProfile=pdf.make_indirect(profile),
    )
    pdf.Root[Name.OutputIntents] = Array([pdf.make_indirect(intent)])
    pdf.Root[Name.MarkInfo] = Dictionary(Marked=False)


def make_srgb_profile() -> bytes:
    """A display profile of version 2: the primaries of sRGB, adapted to D50, and gamma 2.2."""
    primaries = {
        b"rXYZ": (0.4360, 0.2225, 0.0139),
        b"gXYZ": (0.3851, 0.7169, 0.0971),
        b"bXYZ": (0.1431, 0.0606, 0.7139),
        b"wtpt": (0.9505, 1.0, 1.0891),
    }
    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, round(2.2 * 256)) + bytes(2)
    name = b"sRGB\0"
    tags = {
        b"desc": b"desc" + bytes(4) + struct.pack(">I", len(name)) + name + bytes(78),
        b"cprt": b"text" + bytes(4) + b"No copyright\0",
        **{tag: b"XYZ " + bytes(4) + _pack_xyz(value) for tag, value in primaries.items()},
        **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve),
    }
    table, body = b"", b""
    start = 128 + 4 + 12 * len(tags)
    for tag, data in tags.items():
        table += tag + struct.pack(">II", start + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    size = start + len(body)
    return _profile_header(size) + struct.pack(">I", len(tags)) + table + body


def _profile_header(size: int) -> bytes:
    made_at = struct.pack(">6H", 2025, 1, 1, 0, 0, 0)
    head = (
        struct.pack(">I", size) + bytes(4) + b"\x02\x10\0\0" + b"mntrRGB XYZ " + made_at + b"acsp"
    )
    return (head + bytes(28) + _pack_xyz((0.9642, 1.0, 0.8249))).ljust(128, b"\0")


def _pack_xyz(value: tuple[float, float, float]) -> bytes:
    return struct.pack(">3i", *(round(part * 65536) for part in value))


writer: Final = HybridWriter()
