"""Web and mail addresses on a sheet, and whose name they carry."""

import re
from typing import Final

from docmill.reading import labels
from docmill.reading.labels import COMPANY, TextSheet

LINKED: Final = 0.45
MAILED: Final = 0.3
_DOMAIN: Final = re.compile(
    r"(?:@|www\.|https?://(?:www\.)?)([a-z0-9.-]+)\.[a-z]{2,}", re.IGNORECASE
)
_MAILBOX: Final = re.compile(r"[\w.+-]+$")
_SHARED: Final = frozenset(
    {"gmail", "yahoo", "outlook", "hotmail", "gmx", "web", "example", "icloud", "tonline"}
)


def find_domains(sheet: TextSheet) -> dict[str, float]:
    """The names of web and mail addresses on the sheet, and what each says for its owner."""
    known: dict[str, float] | None = sheet.kept.get("domains")
    if known is None:
        known = sheet.kept["domains"] = _find_domains(sheet)
    return known


def _find_domains(sheet: TextSheet) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in sheet.rows:
        for match in _DOMAIN.finditer(row.text):
            label = labels.squeeze(max(match[1].split("."), key=len))
            mailed = match[0][0] == "@"
            if mailed and label in _SHARED:
                box = _MAILBOX.search(row.text[: match.start()])
                label = labels.squeeze(box[0]) if box else ""
            if len(label) > 3 and label not in _SHARED:
                worth = MAILED if mailed else LINKED
                found[label] = max(worth, found.get(label, 0.0))
    return found


def is_known_by(name: str, domain: str) -> bool:
    """Whether a mail or web address carries the name."""
    key = labels.squeeze(COMPANY.sub("", name))
    return len(key) > 3 and (key in domain or (domain in key and len(domain) > 4))
