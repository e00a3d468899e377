"""What an operator decided about the web side; the command line fills it from the settings."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Which tokens are believed: HS256 by the secret, RS256 and ES256 by the keys at the URL."""

    secret: str | None = field(default=None, repr=False)
    jwks_url: str | None = None
    audience: str | None = None
    issuer: str | None = None
    premium_claim: str = "premium"
    desk_claim: str = "desks"
    desk_users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    auth_mode: Literal["session", "jwt", "both"] = "session"
    tokens: TokenRules = field(default_factory=TokenRules)
    secure_cookies: bool = False
    max_upload_bytes: int = 52_428_800
    max_files: int = 20
    uploads_per_minute: int = 10
    disk_limit: float = 0.9
    default_pipeline: str = "invoice"
    documents_pipeline: str = "extract"
    delete_on_download: bool = False
    docling: bool = False
