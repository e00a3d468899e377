"""The table of an owner's settings; API, page and command follow from it.

Where a value is used decides where it is kept: what mappings write is the profile's
(`invoices/profile.py`), what uploads and runs go by is a preference (`jobs/preferences.py`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class SettingKind(StrEnum):
    TEXT = "text"
    CHOICE = "choice"
    PERCENT = "percent"
    RATES = "rates"


@dataclass(frozen=True, slots=True)
class SettingField:
    """`choices` are what it may be, with a label each; those of uploads come from the catalog."""

    name: str
    label: str
    section: str
    hint: str = ""
    kind: SettingKind = SettingKind.TEXT
    choices: tuple[tuple[str, str], ...] = ()


SELLER: Final = "seller"
TAX: Final = "tax"
RATES: Final = "rates"
DEFAULTS: Final = "defaults"

TRX_CHOICES: Final = (
    ("01", "01 · any buyer, full base"),
    ("02", "02 · a government treasurer"),
    ("03", "03 · another tax collector"),
    ("04", "04 · other tax base, 11/12"),
    ("05", "05 · a fixed share"),
    ("06", "06 · other deliveries"),
    ("07", "07 · tax not collected"),
    ("08", "08 · exempt from tax"),
    ("09", "09 · used assets"),
    ("10", "10 · other"),
)
OPT_CHOICES: Final = (("A", "Goods"), ("B", "Services"))

FIELDS: Final = (
    SettingField("name", "Company name", SELLER, "Used where a document prints no seller."),
    SettingField(
        "other_names",
        "Other names on your invoices",
        SELLER,
        "Brands and short forms, separated by semicolons. They show which invoices are yours.",
    ),
    SettingField("tin", "NPWP", SELLER, "15 or 16 digits; dots and dashes are fine."),
    SettingField(
        "idtku", "IDTKU", SELLER, "22 digits. Empty: the head office, which ends in 000000."
    ),
    SettingField("country", "Country", SELLER, "A name or a code, such as ID."),
    SettingField("payment_terms", "Payment terms", SELLER, "Such as 30 days net; for UBL and CII."),
    SettingField(
        "trx_code",
        "Transaction code",
        TAX,
        "Empty: derived from the printed tax.",
        SettingKind.CHOICE,
        TRX_CHOICES,
    ),
    SettingField(
        "opt",
        "You mostly sell",
        TAX,
        "For lines that do not say whether they are goods or services.",
        SettingKind.CHOICE,
        OPT_CHOICES,
    ),
    SettingField("add_info", "Additional information", TAX, "Only with codes 07 and 08."),
    SettingField("facility_stamp", "Facility stamp", TAX, "Only with codes 07 and 08."),
    SettingField(
        "rates",
        "Exchange rates",
        RATES,
        'Rupiah for one unit on every day: {"USD": "16250"}.',
        SettingKind.RATES,
    ),
    SettingField(
        "daily_rates",
        "Exchange rates by day",
        RATES,
        'Rupiah for one unit from that day on: {"USD": {"2025-03-14": "16250"}}. An invoice takes '
        "the rate of its date, or of the newest day before.",
        SettingKind.RATES,
    ),
    SettingField(
        "pipeline",
        "Read uploads as",
        DEFAULTS,
        "For uploads that name no pipeline.",
        SettingKind.CHOICE,
    ),
    SettingField(
        "mapping",
        "Write invoices as",
        DEFAULTS,
        "For invoices uploaded without a format.",
        SettingKind.CHOICE,
    ),
    SettingField(
        "review_threshold",
        "Review values below",
        DEFAULTS,
        "Values with a lower confidence wait for review, from 0 to 1.",
        SettingKind.PERCENT,
    ),
)
BY_NAME: Final = {field.name: field for field in FIELDS}
