"""What an operator decided about the web side; the command line fills it from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from docmill.core.faults import MAX_UPLOAD_BYTES
from docmill.core.plugins import AUTO
from docmill.core.retention import RetentionRules


@dataclass(frozen=True, slots=True)
class TokenConfig:
    """Which tokens are believed: HS256 by the secret, RS256 and ES256 by the keys at the URL."""

    secret: str | None = field(default=None, repr=False)
    jwks_url: str | None = None
    audience: str | None = None
    issuer: str | None = None
    premium_claim: str = "premium"
    admin_claim: str = "admin"
    desk_claim: str = "desks"
    desk_users: tuple[str, ...] = ()
    admin_users: tuple[str, ...] = ()
    admin_readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignInConfig:
    """The OpenID provider that people sign in with; without an issuer nobody does."""

    issuer: str | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    scopes: str = "openid profile email"
    callback_url: str | None = None
    session: timedelta = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class QuotaConfig:
    """How much one owner may have here; 0 is no limit."""

    files: int = 0
    bytes: int = 0
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class WebConfig:
    auth_mode: Literal["local", "session", "jwt", "both"] = "session"
    # Names people reach this site by, besides those of the machine itself.
    hosts: tuple[str, ...] = ()
    # Other origins whose pages may call the API.
    origins: tuple[str, ...] = ()
    tokens: TokenConfig = field(default_factory=TokenConfig)
    sign_in: SignInConfig = field(default_factory=SignInConfig)
    quotas: QuotaConfig = field(default_factory=QuotaConfig)
    secure_cookies: bool = False
    max_upload_bytes: int = MAX_UPLOAD_BYTES
    max_files: int = 20
    uploads_per_minute: int = 10
    uploads_burst: int = 100
    reads_per_minute: int = 1000
    trusted_proxies: tuple[str, ...] = ()
    # Networks that are not public and may be reached all the same.
    webhook_allow: tuple[str, ...] = ()
    # The same for addresses that files are fetched from.
    fetch_allow: tuple[str, ...] = ()
    disk_limit: float = 0.9
    keep_events: timedelta = timedelta(days=90)
    retention: RetentionRules = field(default_factory=RetentionRules)
    # What an hour of CPU, a page, a gigabyte and a service's call cost; what is not named is not
    # counted as money.
    prices: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])
    default_pipeline: str = AUTO
    documents_pipeline: str = "extract"
    delete_on_download: bool = False
    metrics: bool = True
    # Where the processes that share the port tell of themselves, each of itself alone.
    siblings: tuple[str, ...] = ()
    # The settings that are on, of those that switch a room on.
    switches: frozenset[str] = frozenset()
