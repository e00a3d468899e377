"""What an operator decided about the web side; the command line fills it from the settings."""

from dataclasses import dataclass, field
from typing import Literal

from docmill.core.faults import MAX_UPLOAD_BYTES
from docmill.core.plugins import AUTO


@dataclass(frozen=True, slots=True)
class TokenConfig:
    """Which tokens are believed: HS256 by the secret, RS256 and ES256 by the keys at the URL."""

    secret: str | None = field(default=None, repr=False)
    jwks_url: str | None = None
    audience: str | None = None
    issuer: str | None = None
    premium_claim: str = "premium"
    desk_claim: str = "desks"
    desk_users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebConfig:
    auth_mode: Literal["local", "session", "jwt", "both"] = "session"
    # Names people reach this site by, besides those of the machine itself.
    hosts: tuple[str, ...] = ()
    tokens: TokenConfig = field(default_factory=TokenConfig)
    secure_cookies: bool = False
    max_upload_bytes: int = MAX_UPLOAD_BYTES
    max_files: int = 20
    uploads_per_minute: int = 10
    uploads_burst: int = 100
    reads_per_minute: int = 1000
    trusted_proxies: tuple[str, ...] = ()
    disk_limit: float = 0.9
    default_pipeline: str = AUTO
    documents_pipeline: str = "extract"
    delete_on_download: bool = False
    # The settings that are on, of those that switch a room on.
    switches: frozenset[str] = frozenset()
