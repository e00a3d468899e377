"""Heads of invoices made at random: who sells and who buys, in many arrangements and languages.

Only pages of words are made, no PDF: for fitting the ranking of names and for tests of it. All
names, streets and numbers are invented.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from docmill.reading.pages import Box, Page, Word, make_line

WIDTH: Final = 595.0
HEIGHT: Final = 842.0
LETTER: Final = 0.5  # of the size: how wide a letter is
SPACE: Final = 0.28

Text = tuple[float, float, float, str]  # left edge, top, size, words


@dataclass(frozen=True, slots=True)
class HeadLanguage:
    """What a country's invoices print: labels, forms of companies, names and places."""

    code: str
    title: tuple[str, ...]
    number: str
    date: str
    seller: tuple[str, ...]
    buyer: tuple[str, ...]
    forms: tuple[str, ...]  # with {} where the name goes
    streets: tuple[str, ...]
    towns: tuple[str, ...]
    tax: str
    phone: str
    bank: str
    holder: str
    people: tuple[str, ...]
    columns: tuple[str, str, str]
    total: str


@dataclass(frozen=True, slots=True)
class MadeParty:
    """A party: its name, lines of address, and how it is reached."""

    name: str
    address: tuple[str, ...]
    mail: str
    web: str
    phone: str
    tax: str


@dataclass(frozen=True, slots=True)
class MadeHead:
    """A page with its arrangement, and who is who."""

    page: Page
    layout: str
    seller: str
    buyer: str


STEMS: Final = [
    "Nord",
    "Alder",
    "Bright",
    "Cobalt",
    "Delta",
    "Ember",
    "Falk",
    "Granit",
    "Harbor",
    "Iris",
    "Juniper",
    "Kestrel",
    "Linden",
    "Marlin",
    "Nimbus",
    "Orchid",
    "Pioneer",
    "Quartz",
    "Raven",
    "Summit",
    "Talon",
    "Umbra",
    "Vector",
    "Willow",
    "Zenith",
    "Sinar",
    "Mitra",
    "Bintang",
]
TRADES: Final = [
    "Trading",
    "Systems",
    "Logistics",
    "Media",
    "Foods",
    "Design",
    "Energy",
    "Tools",
    "Consulting",
    "Print",
    "Garden",
    "Electric",
    "Solutions",
    "Express",
    "Studio",
    "Textiles",
]


def make_page(texts: Sequence[Text]) -> Page:
    """A page of words; a word is as wide as its letters."""
    words: list[Word] = []
    for x, y, size, text in texts:
        at = x
        for word in text.split(" "):
            width = len(word) * size * LETTER
            if word:
                words.append(Word(word, Box(at, y, at + width, y + size)))
            at += width + size * SPACE
    return Page(1, WIDTH, HEIGHT, tuple(make_line([word]) for word in words))


def text_width(text: str, size: float) -> float:
    return sum(len(word) * size * LETTER for word in text.split(" ")) + SPACE * size * text.count(
        " "
    )


def make_party(random: Random, language: HeadLanguage, *, company: bool) -> MadeParty:
    """Somebody of a country."""
    stem, trade = random.choice(STEMS), random.choice(TRADES)
    bare = random.choice((f"{stem} {trade}", f"{stem} & {random.choice(STEMS)}", stem))
    name = random.choice(language.forms).format(bare) if company else random.choice(language.people)
    if random.random() < 0.15:
        name = name.upper()
    site = f"{stem}{trade}".lower() if company else "example"
    figures = "".join(random.choice("0123456789") for _ in range(9))
    address = (
        random.choice(language.streets).format(random.randint(1, 180)),
        random.choice(language.towns),
    )
    return MadeParty(
        name,
        address,
        f"info@{site}.com",
        f"www.{site}.com",
        f"{language.phone} {figures[:3]} {figures[3:]}",
        f"{language.tax} {figures}",
    )


def make_head(random: Random) -> MadeHead:
    """A head in a random language and arrangement."""
    language = random.choice(LANGUAGES)
    seller = make_party(random, language, company=random.random() < 0.85)
    buyer = make_party(random, language, company=random.random() < 0.6)
    while buyer.name == seller.name:
        buyer = make_party(random, language, company=True)
    layout = random.choice(sorted(LAYOUTS))
    texts = LAYOUTS[layout](random, language, seller, buyer)
    page = make_page([*texts, *_table(random, language)])
    return MadeHead(page, layout, seller.name, buyer.name)


def _stack(x: float, y: float, size: float, lines: Sequence[str]) -> list[Text]:
    return [(x, y + 1.35 * size * at, size, line) for at, line in enumerate(lines)]


def _right(y: float, size: float, lines: Sequence[str]) -> list[Text]:
    edge = WIDTH - 40
    return [
        (edge - text_width(line, size), y + 1.35 * size * at, size, line)
        for at, line in enumerate(lines)
    ]


def _contacts(random: Random, party: MadeParty, least: int = 0) -> list[str]:
    ways = [party.phone, party.mail, party.web, party.tax]
    return random.sample(ways, random.randint(least, 3))


def _facts(random: Random, language: HeadLanguage, x: float, y: float) -> list[Text]:
    """Title, number and date, in one of several ways."""
    number = f"{random.choice(('', 'A-', 'INV-'))}{random.randint(1000, 99999)}"
    title = (x, y, random.choice((14.0, 18.0, 24.0)), random.choice(language.title))
    lines = [f"{language.number}: {number}", f"{language.date}: {random.randint(10, 28)}.03.2025"]
    return [title, *_stack(x, y + 34, 9, lines)]


def _table(random: Random, language: HeadLanguage) -> list[Text]:
    y = 420.0
    texts: list[Text] = [
        (x, y, 9, word) for x, word in zip((40.0, 330.0, 480.0), language.columns, strict=True)
    ]
    total = 0
    for at in range(random.randint(1, 5)):
        price = random.randint(10, 900)
        total += price
        row = (f"{random.choice(TRADES)} {random.choice(STEMS)}", "1", f"{price}.00")
        texts += [
            (x, y + 16 * (at + 1), 9, cell)
            for x, cell in zip((40.0, 330.0, 480.0), row, strict=True)
        ]
    return [*texts, (330, y + 120, 10, language.total), (480, y + 120, 10, f"{total}.00")]


def _labelled_beside(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """Both under labels, side by side."""
    y = random.uniform(120, 220)
    colon = random.choice(("", ":"))
    turned = random.random() < 0.2
    first, second = (320.0, 40.0) if turned else (40.0, 320.0)
    mine = [seller.name, *seller.address, *_contacts(random, seller)]
    yours = [buyer.name, *buyer.address, *_contacts(random, buyer)]
    return [
        *_facts(random, language, 40, 40),
        (first, y, 9, random.choice(language.seller) + colon),
        *_stack(first, y + 14, 10, mine),
        (second, y, 9, random.choice(language.buyer) + colon),
        *_stack(second, y + 14, 10, yours),
    ]


def _letterhead_and_label(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """A large name over its address, and the buyer under a label."""
    size = random.choice((11.0, 14.0, 18.0))
    own = [*seller.address, *_contacts(random, seller)]
    at = random.choice((40.0, 330.0))
    label = random.choice(language.buyer) + random.choice(("", ":"))
    return [
        (at, 36, size, seller.name),
        *_stack(at, 40 + 1.35 * size, 9, own),
        (40, 170, 9, label),
        *_stack(40, 184, 10, [buyer.name, *buyer.address, *_contacts(random, buyer)[:1]]),
        *_facts(random, language, 330, 160),
    ]


def _window_letter(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """A sender's line over the address of a letter, an imprint at the foot."""
    line = " · ".join((seller.name, *seller.address))
    foot = " | ".join((seller.name, *_contacts(random, seller, 2)))
    large = [(330.0, 40.0, 16.0, seller.name)] if random.random() < 0.5 else []
    return [
        *large,
        (57, 128, 7, line),
        *_stack(57, 144, 10, [buyer.name, *buyer.address]),
        *_facts(random, language, 57, 260),
        (57, 800, 7, foot),
    ]


def _unlabelled_beside(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """Two blocks side by side, neither with a label; the seller left, or known by more."""
    y = random.uniform(110, 200)
    mine = [seller.name, *seller.address, *_contacts(random, seller)]
    yours = [buyer.name, *buyer.address]
    if random.random() < 0.5:
        yours.append(buyer.mail)
    right = _right(y, 10, yours) if random.random() < 0.5 else _stack(330, y, 10, yours)
    return [*_facts(random, language, 330, 40), *_stack(40, y, 10, mine), *right]


def _unlabelled_stacked(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """The seller at the top, the buyer further down, neither with a label."""
    size = random.choice((10.0, 13.0, 18.0))
    top = [*seller.address, *_contacts(random, seller)]
    placed = (
        _right(36, size, [seller.name]) if random.random() < 0.3 else [(40, 36, size, seller.name)]
    )
    return [
        *placed,
        *_stack(placed[0][0], 40 + 1.35 * size, 9, top),
        *_stack(40, 180, 10, [buyer.name, *buyer.address]),
        *_facts(random, language, 330, 170),
    ]


def _account_holder(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """The buyer at the top, the seller only as the owner of the account to pay to."""
    yours = [buyer.name, *buyer.address, *_contacts(random, buyer)[:1]]
    start = [(40.0, 100.0, 9.0, random.choice(language.buyer))] if random.random() < 0.3 else []
    return [
        *_facts(random, language, 330, 60),
        *start,
        *_stack(40, 114, 10, yours),
        (40, 620, 9, f"{language.bank} Central"),
        (40, 634, 9, f"{language.holder}"),
        (170, 634, 9, f": {seller.name}"),
        (40, 648, 9, "IBAN XX00 1234 5678 9012"),
    ]


def _imprint(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """The buyer's address at the top; the seller in columns at the foot, at times with a logo."""
    brand = [(40.0, 36.0, 22.0, seller.name.split(" ")[0])] if random.random() < 0.4 else []
    foot = [seller.name, *seller.address]
    return [
        *brand,
        *_stack(57, 144, 10, [buyer.name, *buyer.address]),
        *_facts(random, language, 330, 144),
        *_stack(57, 770, 7, foot),
        *_stack(230, 770, 7, [seller.phone, seller.mail, seller.web]),
        *_stack(400, 770, 7, [language.bank + " Central", "IBAN XX00 1234 5678", seller.tax]),
    ]


def _table_of_parties(
    random: Random, language: HeadLanguage, seller: MadeParty, buyer: MadeParty
) -> list[Text]:
    """Labels left, names right, one under the other."""
    rows = [
        (random.choice(language.seller), seller.name),
        ("", seller.address[0]),
        (random.choice(language.buyer), buyer.name),
        ("", buyer.address[0]),
    ]
    if random.random() < 0.3:
        rows = [*rows[2:], *rows[:2]]
    texts = _facts(random, language, 40, 40)
    for at, (label, value) in enumerate(rows):
        texts += [(40, 150 + 15 * at, 10, label)] if label else []
        texts += [(150, 150 + 15 * at, 10, f": {value}" if label else value)]
    return texts


Layout = Callable[[Random, HeadLanguage, MadeParty, MadeParty], list[Text]]
LAYOUTS: Final[dict[str, Layout]] = {
    "account_holder": _account_holder,
    "imprint": _imprint,
    "labelled_beside": _labelled_beside,
    "letterhead_and_label": _letterhead_and_label,
    "table_of_parties": _table_of_parties,
    "unlabelled_beside": _unlabelled_beside,
    "unlabelled_stacked": _unlabelled_stacked,
    "window_letter": _window_letter,
}
LANGUAGES: Final = (
    HeadLanguage(
        "en", ("INVOICE", "Invoice", "Tax Invoice"), "Invoice No", "Date",
        ("From", "Seller", "Supplier", "Vendor"), ("Bill To", "Invoice to", "Customer", "Client"),
        ("{} Ltd", "{} Inc.", "{} LLC", "{}"), ("{} Mill Lane", "{} High Street"),
        ("London W1A 4AB", "Springfield, IL 62701"), "VAT No", "Tel", "Bank", "Account Name",
        ("Anna Smith", "Tom Baker"), ("Description", "Qty", "Amount"), "Total",
    ),
    HeadLanguage(
        "de", ("Rechnung", "RECHNUNG"), "Rechnungs-Nr.", "Datum",
        ("Verkäufer", "Absender", "Lieferant"), ("Rechnung an", "Kunde", "Rechnungsempfänger"),
        ("{} GmbH", "{} AG", "{} GmbH & Co. KG", "{}"), ("Lindenweg {}", "Hauptstraße {}"),
        ("50667 Köln", "10115 Berlin"), "USt-IdNr.", "Tel.", "Bank", "Kontoinhaber",
        ("Jana Vogel", "Uwe Brandt"), ("Beschreibung", "Menge", "Betrag"), "Gesamtbetrag",
    ),
    HeadLanguage(
        "fr", ("Facture", "FACTURE"), "Facture n°", "Date",
        ("Émetteur", "Vendeur", "Fournisseur"), ("Client", "Facturé à", "Destinataire"),
        ("{} SARL", "{} SAS", "{}"), ("{} rue des Lilas", "{} avenue de la Gare"),
        ("75011 Paris", "69003 Lyon"), "TVA", "Tél.", "Banque", "Titulaire du compte",
        ("Luc Moreau", "Claire Petit"), ("Désignation", "Quantité", "Montant"), "Total TTC",
    ),
    HeadLanguage(
        "es", ("FACTURA", "Factura"), "Factura Nº", "Fecha",
        ("Emisor", "Proveedor", "Vendedor"), ("Cliente", "Facturar a", "Señores"),
        ("{} S.L.", "{} S.A.", "{} S.A. de C.V.", "{}"), ("Calle Mayor {}", "Av. Central {}"),
        ("28013 Madrid", "Santiago"), "NIF", "Tel.", "Banco", "Titular",
        ("Marta Ruiz", "Pablo Vega"), ("Descripción", "Cantidad", "Importe"), "Total",
    ),
    HeadLanguage(
        "it", ("FATTURA", "Fattura"), "Fattura n.", "Data",
        ("Fornitore", "Cedente", "Mittente"), ("Cliente", "Spett.le", "Destinatario"),
        ("{} S.r.l.", "{} S.p.A.", "{} snc", "{}"), ("Via Roma {}", "Piazza Verdi {}"),
        ("20121 Milano", "00184 Roma"), "P.IVA", "Tel.", "Banca", "Intestatario conto",
        ("Mario Conti", "Elena Riva"), ("Descrizione", "Quantità", "Importo"), "Totale",
    ),
    HeadLanguage(
        "pt", ("FATURA", "Fatura"), "Fatura n.º", "Data",
        ("Fornecedor", "Emitente", "Prestador"), ("Cliente", "Faturar a", "Destinatário"),
        ("{} Lda", "{} Ltda", "{} S.A.", "{}"), ("Rua do Sol, {}", "Avenida Norte, {}"),
        ("1100-053 Lisboa", "Porto"), "NIF", "Telefone", "Banco", "Titular da conta",
        ("Ana Costa", "Rui Lopes"), ("Descrição", "Quantidade", "Valor"), "Total",
    ),
    HeadLanguage(
        "nl", ("FACTUUR", "Factuur"), "Factuurnummer", "Datum",
        ("Leverancier", "Verkoper", "Afzender"), ("Klant", "Factuur aan", "Factuuradres"),
        ("{} B.V.", "{} BV", "{} VOF", "{}"), ("Dorpsstraat {}", "Kerklaan {}"),
        ("1012 AB Amsterdam", "9000 Gent"), "BTW", "Telefoon", "Bank", "Ten name van",
        ("Jan de Boer", "Els Visser"), ("Omschrijving", "Aantal", "Bedrag"), "Totaal",
    ),
    HeadLanguage(
        "pl", ("FAKTURA", "Faktura VAT"), "Faktura nr", "Data wystawienia",
        ("Sprzedawca", "Wystawca"), ("Nabywca", "Kupujący", "Klient"),
        ("{} Sp. z o.o.", "{} S.A.", "{}"), ("ul. Polna {}", "ul. Długa {}"),
        ("00-950 Warszawa", "31-042 Kraków"), "NIP", "tel.", "Bank", "Właściciel rachunku",
        ("Jan Kowal", "Ewa Zając"), ("Nazwa towaru", "Ilość", "Wartość"), "Razem",
    ),
    HeadLanguage(
        "cs", ("FAKTURA", "Faktura"), "Číslo faktury", "Datum vystavení",
        ("Dodavatel", "Prodávající"), ("Odběratel", "Zákazník", "Kupující"),
        ("{} s.r.o.", "{} a.s.", "{}"), ("Dlouhá {}", "Lipová {}"),
        ("110 00 Praha", "602 00 Brno"), "DIČ", "tel.", "Banka", "Majitel účtu",
        ("Petr Malý", "Jana Nová"), ("Popis", "Množství", "Celkem"), "Celkem",
    ),
    HeadLanguage(
        "hu", ("SZÁMLA", "Számla"), "Számla sorszáma", "Számla kelte",
        ("Eladó", "Szállító"), ("Vevő", "Megrendelő"),
        ("{} Kft.", "{} Zrt.", "{}"), ("Kossuth utca {}.", "Petőfi utca {}."),
        ("1051 Budapest", "6720 Szeged"), "Adószám", "Telefon", "Bank", "Számlatulajdonos",
        ("Nagy Péter", "Kiss Anna"), ("Megnevezés", "Mennyiség", "Érték"), "Összesen",
    ),
    HeadLanguage(
        "sv", ("FAKTURA", "Faktura"), "Fakturanummer", "Fakturadatum",
        ("Säljare", "Leverantör", "Från"), ("Kund", "Köpare", "Fakturaadress"),
        ("{} AB", "{} HB", "{}"), ("Storgatan {}", "Skolvägen {}"),
        ("111 22 Stockholm", "411 05 Göteborg"), "Org.nr", "Telefon", "Bank", "Kontoinnehavare",
        ("Karin Berg", "Nils Lund"), ("Beskrivning", "Antal", "Belopp"), "Att betala",
    ),
    HeadLanguage(
        "da", ("FAKTURA", "Faktura"), "Fakturanr.", "Fakturadato",
        ("Sælger", "Leverandør", "Fra"), ("Kunde", "Køber", "Faktura til"),
        ("{} A/S", "{} ApS", "{}"), ("Nørregade {}", "Skovvej {}"),
        ("1165 København", "8000 Aarhus"), "CVR", "Tlf.", "Bank", "Kontohaver",
        ("Mette Holm", "Lars Dahl"), ("Beskrivelse", "Antal", "Beløb"), "I alt",
    ),
    HeadLanguage(
        "nb", ("FAKTURA", "Faktura"), "Fakturanr", "Fakturadato",
        ("Selger", "Leverandør", "Fra"), ("Kunde", "Kjøper", "Fakturaadresse"),
        ("{} AS", "{} ASA", "{}"), ("Storgata {}", "Fjordveien {}"),
        ("0155 Oslo", "5003 Bergen"), "Org.nr", "Tlf.", "Bank", "Kontoeier",
        ("Kari Moen", "Ola Lie"), ("Beskrivelse", "Antall", "Beløp"), "Å betale",
    ),
    HeadLanguage(
        "id", ("INVOICE", "FAKTUR", "TAGIHAN"), "No. Invoice", "Tanggal",
        ("Penjual", "Dari"), ("Kepada Yth.", "Kepada", "Pelanggan", "Ditagihkan kepada"),
        ("PT {}", "CV {}", "PT. {} Indonesia", "UD {}", "{}"),
        ("Jl. Melati No. {}", "Jl. Sudirman Kav. {}"), ("Jakarta 12190", "Surabaya 60271"),
        "NPWP", "Telp.", "Bank", "Atas Nama",
        ("Budi Hartono", "Sri Lestari"), ("Keterangan", "Qty", "Jumlah"), "Total",
    ),
)  # fmt: skip
