"""Made-up Indonesian trade: who sells what to whom, for how much. Knows nothing of layouts."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random

FORMS = (
    "PT {}",
    "PT. {}",
    "CV {}",
    "CV. {}",
    "UD {}",
    "PT {} Tbk",
    "{} Pte Ltd",
    "Toko {}",
    "PT {} (Persero)",
)
FIRST = [
    "Maju",
    "Sinar",
    "Karya",
    "Bintang",
    "Surya",
    "Mitra",
    "Cahaya",
    "Sumber",
    "Anugerah",
    "Prima",
    "Global",
    "Multi",
    "Indo",
    "Nusantara",
]
SECOND = [
    "Jaya",
    "Abadi",
    "Sentosa",
    "Makmur",
    "Sejahtera",
    "Mandiri",
    "Lestari",
    "Utama",
    "Perkasa",
    "Teknologi",
    "Logistik",
    "Pangan",
]
STREETS = [
    "Sudirman Thamrin Gatot Subroto",
    "Gajah Mada",
    "Diponegoro",
    "Ahmad Yani",
    "Raya Bekasi Km 21",
    "Pahlawan",
]
TOWNS = (
    "Jakarta Selatan 12190",
    "Surabaya 60271",
    "Bandung 40115",
    "Bekasi 17530",
    "Semarang 50132",
    "Medan 20112",
)
GOODS = (
    "Kertas HVS A4 80 gram",
    "Tinta printer hitam 70 ml",
    "Jasa konsultasi pajak bulan Maret",
    "Semen Portland 50 kg",
    "Besi beton polos diameter 12 mm panjang 12 meter",
    "Laptop 14 inch RAM 16 GB SSD 512 GB garansi resmi 2 tahun",
    "Sewa alat berat excavator PC200",
    "Pemasangan jaringan listrik gedung lantai 3 termasuk material",
    "Monthly maintenance service for air conditioning units",
    "Steel bolt M10 x 50 galvanized",
    "Safety helmet SNI",
    "Freight forwarding Jakarta - Surabaya",
    "Software licence, 1 year subscription",
    "Minyak goreng curah",
    "Kopi arabika Gayo grade 1",
    "Cetak brosur A5 full color 2 sisi",
    "Training K3 umum 3 hari",
    "Filter oli C-1142",
    "Kabel NYM 3x2.5 mm Eterna",
    "Pipa PVC AW 4 inch",
    "Meja kantor 120 x 60 cm",
    "Design and engineering works phase 2",
)
UNITS = (
    "pcs",
    "unit",
    "kg",
    "box",
    "set",
    "jam",
    "bulan",
    "liter",
    "lembar",
    "roll",
    "PCS",
    "Unit",
    "ea",
    "rim",
)


@dataclass
class Firm:
    name: str
    street: str
    town: str
    npwp: str
    phone: str
    domain: str


@dataclass
class Sold:
    description: str
    quantity: Decimal | None
    unit: str
    price: Decimal | None
    percent: Decimal
    amount: Decimal


@dataclass
class Deal:
    seller: Firm
    buyer: Firm
    number: str
    issued: date
    due: date | None
    currency: str
    lines: list[Sold]
    discount: Decimal
    net: Decimal
    rate: str  # "", "11" or "12": the last one on eleven twelfths of the net
    tax: Decimal
    gross: Decimal = Decimal(0)
    withheld: Decimal = Decimal(0)
    paid: Decimal = Decimal(0)
    others: dict[str, str] = field(default_factory=dict)


def rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def firm(rng: Random) -> Firm:
    core = f"{rng.choice(FIRST)} {rng.choice(SECOND)}" + (
        f" {rng.choice(SECOND)}" if rng.random() < 0.2 else ""
    )
    digits = [rng.randrange(10) for _ in range(15)]
    d = "".join(map(str, digits))
    npwp = f"{d[:2]}.{d[2:5]}.{d[5:8]}.{d[8]}-{d[9:12]}.{d[12:]}" if rng.random() < 0.7 else "0" + d
    number = f"({rng.choice(['021', '031', '022'])}) {rng.randrange(2000000, 8999999)}"
    name = rng.choice(FORMS).format(core)
    street = f"Jl. {rng.choice(STREETS)} No. {rng.randrange(1, 200)}"
    return Firm(
        name, street, rng.choice(TOWNS), npwp, number, core.lower().replace(" ", "") + ".co.id"
    )


def sold(rng: Random, places: int, foreign: bool) -> Sold:
    scale = Decimal(1) if foreign else Decimal(500)
    price = rounded(Decimal(rng.randrange(2, 9000)) * scale / (4 if foreign else 1), places)
    quantity = Decimal(rng.choice([1, 1, 2, 3, 5, 10, 12, 24, 50, 100, rng.randrange(1, 400)]))
    if rng.random() < 0.1:
        quantity = Decimal(rng.randrange(10, 999)) / 10
    percent = Decimal(rng.choice([0, 0, 0, 0, 5, 10]))
    amount = rounded(quantity * price * (100 - percent) / 100, places)
    return Sold(rng.choice(GOODS), quantity, rng.choice(UNITS), price, percent, amount)


def number(rng: Random, day: date) -> str:
    roman = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"][
        day.month - 1
    ]
    serial = rng.randrange(1, 9999)
    return rng.choice(
        [
            f"INV/{day.year}/{day.month:02}/{serial:04}",
            f"{serial:03}/INV/{rng.choice(['MJ', 'SK', 'ABC'])}/{roman}/{day.year}",
            f"INV-{day:%Y%m}-{serial:04}",
            f"{day:%y}{serial:06}",
            f"SI.{day.year}.{day.month:02}.{serial:05}",
            f"FKT{serial:07}",
            f"{serial:04}/F/{roman}/{day:%y}",
        ]
    )


def bought(rng: Random, places: int, foreign: bool, most: int) -> list[Sold]:
    """Some lines; now and then one of them has an amount and nothing else."""
    count = rng.choice([1, 2, 3, 4, 5, 6, 8, 12, rng.randrange(1, most)])
    lines = [sold(rng, places, foreign) for _ in range(count)]
    if rng.random() < 0.15:
        fee = rounded(Decimal(rng.randrange(1, 50)) * (10 if foreign else 25000), places)
        lines[rng.randrange(count)] = Sold(rng.choice(GOODS), None, "", None, Decimal(0), fee)
    return lines


def others(rng: Random, day: date) -> dict[str, str]:
    """Numbers that are not the invoice's."""
    account = " ".join(str(rng.randrange(100, 999)) for _ in range(3))
    return {
        "po": f"PO-{rng.randrange(10000, 99999)}",
        "do": f"SJ/{rng.randrange(100, 999)}/{day.year}",
        "customer": f"C{rng.randrange(1000, 9999)}",
        "account": account + str(rng.randrange(10)),
    }


def deal(rng: Random, *, most: int = 40) -> Deal:
    """One sale, its sums right to the last cent."""
    foreign = rng.random() < 0.15
    places = 2 if foreign else rng.choice([0, 0, 2])
    seller, buyer = firm(rng), firm(rng)
    while buyer.name == seller.name:
        buyer = firm(rng)
    issued = date(2023, 1, 1) + timedelta(days=rng.randrange(1100))
    due = issued + timedelta(days=rng.choice([7, 14, 30, 45])) if rng.random() < 0.7 else None
    lines = bought(rng, places, foreign, most)
    total = sum((line.amount for line in lines), Decimal(0))
    share = rng.choice([2, 5, 10]) if rng.random() < 0.15 else 0
    off = rounded(total * share / 100, places)
    net, rate = total - off, rng.choice(["11", "11", "12", ""])
    tax = rounded(net * 11 / 100, places) if rate else Decimal(0)
    gross = net + tax
    withheld = rounded(net * 2 / 100, places) if rng.random() < 0.2 else Decimal(0)
    half = rng.choice([gross - withheld, rounded(gross / 2, places)])
    paid = half if rng.random() < 0.2 else Decimal(0)
    sale = Deal(seller, buyer, number(rng, issued), issued, due, "IDR", lines, off, net, rate, tax)
    sale.currency = rng.choice(["USD", "SGD", "EUR"]) if foreign else "IDR"
    sale.gross, sale.withheld, sale.paid = gross, withheld, paid
    sale.others = others(rng, issued)
    return sale
