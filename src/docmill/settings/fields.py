"""All that an operator can set: environment first, then docmill.toml. Read once, frozen."""

import difflib
import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AliasChoices, BaseModel, Field, SecretStr, field_validator
from pydantic.fields import FieldInfo
from pydantic.types import PositiveInt
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from docmill.core.faults import MAX_UPLOAD_BYTES, CommandError
from docmill.settings.rules import BreakerRule, PriceName, RetentionRule

PREFIX: Final = "DOCMILL_"
# As browsers send it: no path, no capitals, no star.
ORIGIN: Final = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?")
CONFIG: Final = "DOCMILL_CONFIG"
# Read elsewhere: where the file is, and where the commands find a server.
OTHER_NAMES: Final = frozenset({CONFIG, "DOCMILL_URL", "DOCMILL_TOKEN"})

# `both`: the model's word is held against that of the rules.
ReaderMode = Literal["rules", "model", "both"]


class ConfigError(CommandError):
    """What is wrong with the configuration, one line per mistake."""


PaceName = Literal["at_a_time", "per_minute"]


class RetryRule(BaseModel, frozen=True, extra="forbid"):
    """How one pipeline's jobs are tried again."""

    attempts: int = Field(3, ge=1, le=20)
    delays_seconds: tuple[float, ...] = ()


SourceName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class SourceRule(BaseModel, frozen=True, extra="forbid"):
    """A bucket to watch, and what becomes of what is dropped into it."""

    bucket: str = Field(min_length=1)
    pipeline: str = "trades"
    desk: str = Field("trading", pattern=r"^\S+$")
    seconds: float | None = Field(None, gt=0)
    paused: bool = False


def _any_name(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class Settings(BaseSettings):
    """Names are DOCMILL_ plus the field's; those other tools use are honoured as well."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", populate_by_name=True
    )

    data: Path = Field(Path("data"), description="Folder of the embedded database and local store")
    database_url: SecretStr | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_DATABASE_URL", "DATABASE_URL"),
        description="PostgreSQL to use instead of the embedded one",
    )
    database_connections: int = Field(10, ge=2, description="Connections per process")
    database_pooler: bool = Field(
        False, description="The database is behind a transaction pooler: poll, do not LISTEN"
    )
    allow_async_commit: bool = Field(
        False, description="Start even if the database may lose commits (synchronous_commit=off)"
    )
    redis_url: SecretStr | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_REDIS_URL", "REDIS_URL"),
        description="Redis or Valkey that the web processes share as their cache; default: memory",
    )
    store: str | None = Field(
        None,
        description="Where bytes go: file:///folder, s3://bucket, gs://bucket or az://container",
    )
    store_also: str | None = Field(
        None, description="A second store to read from while `docmill storage move` runs"
    )
    bucket: str | None = Field(
        None,
        description="Bucket to watch, as DOCMILL_STORE; default DATA/bucket; `none` for none",
    )
    bucket_desk: str = Field(
        "trading", pattern=r"^\S+$", description="Desk that owns documents from the bucket"
    )
    bucket_pipeline: str = Field("trades", description="Pipeline for documents from the bucket")
    bucket_seconds: float | None = Field(
        None, gt=0, description="Seconds between checks of the bucket; default 30, for a folder 2"
    )
    sources: Mapping[SourceName, SourceRule] = Field(
        default_factory=dict[str, SourceRule],
        description='More buckets, by name: {"prime": {"bucket": "s3://prime", "desk": "prime"}}',
    )
    bucket_batch: int = Field(100, ge=1, le=1000, description="Objects registered at a time")
    bucket_stuck_seconds: float = Field(
        600, gt=0, description="Seconds until another poller takes over from a silent one"
    )
    bucket_sweep_seconds: float = Field(
        900, gt=0, description="Seconds between sweeps that reconcile bucket and database"
    )
    host: str = Field("127.0.0.1", description="Address to serve on")
    port: int = Field(8000, ge=0, le=65535, description="Port to serve on; 0 takes a free one")
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Host names people reach docmill by, with commas; localhost and DOCMILL_HOST "
        "are always answered",
    )
    origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Other origins whose pages may call the API, with commas: "
        "https://app.example.com",
    )
    health_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None,
        description="Port on which a process of any kind answers /health, /ready and /metrics; "
        "default none, 9100 in deploy/",
    )
    metrics: bool = Field(True, description="Whether /metrics is answered, on every port")
    production: bool = Field(False, description="Secure cookies, JSON logs")
    auth_mode: Literal["local", "session", "jwt", "both"] | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_AUTH_MODE", "AUTH_MODE"),
        description="Who may come in: the one person at this machine (local), anonymous sessions, "
        "users (tokens, signing in), or both; default: local for `docmill serve` on a loopback "
        "address without DOCMILL_HOSTS and DOCMILL_PRODUCTION, else session",
    )
    jwt_secret: SecretStr | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_JWT_SECRET", "JWT_SECRET"),
        description="Secret of HS256 tokens, at least 32 bytes",
    )
    jwt_jwks_url: str | None = Field(None, description="Address of the keys of RS256/ES256 tokens")
    jwt_audience: str | None = Field(None, description="Required audience of tokens")
    jwt_issuer: str | None = Field(None, description="Required issuer of tokens")
    jwt_premium_claim: str = Field("premium", description="Claim that gives priority 10 when true")
    jwt_admin_claim: str = Field("admin", description="Claim that makes an administrator when true")
    jwt_desk_claim: str = Field(
        "desks", description="Claim that names the desks whose trades a user sees; true: all"
    )
    desk_users: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Users (sub) who see the trades of every desk, separated by commas"
    )
    admin_users: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Users (sub) who are administrators, with commas"
    )
    admin_readers: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Users (sub) who see the admin pages and change nothing, with commas; the "
        "claim of DOCMILL_JWT_ADMIN_CLAIM with the value `read` does the same",
    )
    oidc_issuer: str | None = Field(
        None,
        pattern=r"^https?://[^/]+",
        description="OpenID provider that people sign in with, with AUTH_MODE=jwt or both",
    )
    oidc_client_id: str | None = Field(None, description="docmill's client id at the provider")
    oidc_client_secret: SecretStr | None = Field(
        None, description="docmill's client secret; a public client has none"
    )
    oidc_scopes: str = Field(
        "openid profile email", pattern=r"\bopenid\b", description="Scopes asked of the provider"
    )
    oidc_callback_url: str | None = Field(
        None,
        pattern=r"^https?://[^/]+/",
        description="Where the provider sends people back; default: /sign-in/callback at the "
        "address they came by, with https where DOCMILL_PRODUCTION is set",
    )
    oidc_session_seconds: float = Field(
        43_200, gt=0, description="Seconds that people stay signed in"
    )
    quota_files: int = Field(
        0, ge=0, description="Most files an owner may have stored; 0: no limit"
    )
    quota_bytes: int = Field(
        0, ge=0, description="Most bytes an owner may have stored; 0: no limit"
    )
    quota_jobs: int = Field(
        0, ge=0, description="Most jobs of an owner that wait or run; 0: no limit"
    )
    review_threshold: float | None = Field(
        None,
        ge=0,
        le=1,
        description="A trade with a value less sure than this waits for review, whatever the "
        "promise says; not set: the promise alone decides",
    )
    error_rate: float = Field(
        0.01,
        ge=0,
        le=0.5,
        description="The promise: an invoice or a trade is approved by rule where at most this "
        "share of its values is expected to be wrong; 0: a person approves every one",
    )

    max_upload_bytes: int = Field(MAX_UPLOAD_BYTES, ge=1, description="Largest file accepted")
    max_files: int = Field(20, ge=1, description="Most files in one request")
    uploads_per_minute: int = Field(
        10, ge=0, description="Files a minute per owner, in the long run; 0: no limit"
    )
    uploads_burst: int = Field(100, ge=1, description="Files an owner may upload at once")
    reads_per_minute: int = Field(
        1000, ge=0, description="Reading requests a minute per owner; 0: no limit"
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Proxies (addresses, networks) whose X-Forwarded-For is believed, with commas",
    )
    webhook_allow: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Networks that are not public to which webhooks may go, with commas: "
        "10.0.0.0/8, 127.0.0.1",
    )
    fetch_allow: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Networks that are not public from which files may be fetched by their "
        "address, with commas",
    )
    disk_limit_percent: int = Field(90, ge=1, le=100, description="No uploads above this usage")
    default_pipeline: str = Field(
        "auto",
        description="Pipeline of POST /api/upload; `auto` tells by its content what a document is",
    )
    documents_pipeline: str = Field("extract", description="Pipeline of POST /documents")
    mappings: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Mappings that may be asked for, with commas; empty: all installed"
    )
    mappings_dir: Path | None = Field(None, description="Folder of files NAME_v1.mapping")
    default_mapping: str = Field(
        "auto",
        description="Mapping of those who ask for none; `auto`: Coretax for rupiah and parties in "
        "Indonesia, else UBL",
    )
    docling: bool = Field(False, description="Also answer as docling-serve does, under /v1")
    share_results: bool = Field(
        False, description="The same content of two owners is converted once (global dedupe)"
    )
    pipelines: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Pipelines this worker serves, with commas; empty: all"
    )
    worker_slots: int = Field(3, ge=1, le=256, description="Jobs a worker runs at a time")
    owner_slots: int = Field(
        0, ge=0, description="Jobs of one owner that run at a time, over all workers; 0: any number"
    )
    pipeline_slots: Mapping[str, int] = Field(
        default_factory=dict[str, int],
        description='Jobs of a pipeline that run at a time, over all workers: {"study": 2}',
    )
    service_limits: Mapping[str, Mapping[PaceName, PositiveInt]] = Field(
        default_factory=dict[str, dict[PaceName, PositiveInt]],
        description='Calls of services: {"complete": {"at_a_time": 4, "per_minute": 60}}; '
        "`at_a_time` in each process, `per_minute` in all that share a Redis",
    )
    worker_upkeep: bool = Field(True, description="Workers also do what `docmill upkeep` does")
    long_pages: int = Field(
        30, ge=1, description="A document with more pages is long; one slot is never given to them"
    )
    long_seconds: float = Field(
        10, gt=0, description="A conversion that takes longer counts as long from then on"
    )
    lease_seconds: float = Field(300, gt=0, description="Seconds a silent worker keeps a job")
    heartbeat_seconds: float = Field(30, gt=0, description="Seconds between extensions of leases")
    poll_seconds: float = Field(5, gt=0, description="Seconds between polls for work")
    grace_seconds: float = Field(30, ge=0, description="Seconds for a stopping worker to finish")
    longest_seconds: float = Field(7200, gt=0, description="A job that runs longer is requeued")
    rescue_seconds: float = Field(15, gt=0, description="Seconds between searches for lost jobs")
    attempts: int = Field(3, ge=1, le=20, description="Maximum number of attempts")
    retry_seconds: float = Field(5, ge=0, description="Delay before a retry: this x 2^attempt")
    retry_jitter_seconds: float = Field(5, ge=0, description="Random seconds added to the delay")
    retries: Mapping[str, RetryRule] = Field(
        default_factory=dict[str, RetryRule],
        description='By pipeline or source: {"bucket": {"attempts": 4, "delays_seconds": [9]}}',
    )
    gateway_url: str | None = Field(
        None,
        pattern=r"^https?://[^/,][^,]*(, *https?://[^/,][^,]*)*$",
        validation_alias=_any_name("DOCMILL_GATEWAY_URL", "GATEWAY_URL"),
        description="Gateway that converts invoices, or several with commas: when one fails the "
        "next is asked; without one the worker does it itself",
    )
    openai_api_key: SecretStr | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_OPENAI_API_KEY", "OPENAI_API_KEY"),
        description="Key of OpenAI, or of whoever speaks its protocol",
    )
    openai_url: str = Field(
        "https://api.openai.com/v1",
        pattern=r"^https?://[^/]+",
        validation_alias=_any_name("DOCMILL_OPENAI_URL", "OPENAI_BASE_URL"),
        description="Address of OpenAI's protocol",
    )
    openai_model: str | None = Field(
        None, description="Model that pipelines may ask to write; without one none is asked"
    )
    openai_prompt_price: Decimal | None = Field(
        None, ge=0, description="US dollars for a million tokens that the model reads"
    )
    openai_completion_price: Decimal | None = Field(
        None, ge=0, description="US dollars for a million tokens that the model writes"
    )
    invoice_reader: ReaderMode = Field(
        "rules", description="Who reads invoices: docmill's rules, the model, or both"
    )
    trades_reader: ReaderMode | None = Field(
        None,
        description="Who reads trades: rules, model or both; default rules, and "
        "DOCMILL_OPENAI_MODEL where they are in doubt",
    )
    fields_reader: ReaderMode | None = Field(
        None,
        description="Who finds fields asked for by name: rules, model or both; default rules, "
        "with DOCMILL_OPENAI_MODEL both",
    )
    openai_embedding_model: str | None = Field(
        None, description="Model that makes embeddings; without one the built-in is used"
    )
    openai_embedding_width: int = Field(
        384,
        ge=0,
        le=16_000,
        description="Numbers in a vector asked of that model; 0: as many as it gives by itself",
    )
    ai_parser_url: str | None = Field(
        None,
        pattern=r"^https?://[^/]+",
        validation_alias=_any_name("DOCMILL_AI_PARSER_URL", "AI_PARSER_URL"),
        description="External parser of trade confirmations",
    )
    reader: Literal["built-in", "azure"] = Field(
        "built-in", description="What reads the documents of `extract`"
    )
    reader_endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^/]+",
        validation_alias=_any_name("DOCMILL_READER_ENDPOINT", "DOCUMENTINTELLIGENCE_ENDPOINT"),
        description="Address of Azure Document Intelligence",
    )
    reader_key: SecretStr | None = Field(
        None,
        validation_alias=_any_name("DOCMILL_READER_KEY", "DOCUMENTINTELLIGENCE_API_KEY"),
        description="Key of Azure Document Intelligence",
    )
    reader_model: Literal["prebuilt-layout", "prebuilt-document"] = Field(
        "prebuilt-layout", description="Azure's model; `prebuilt-document` also finds its fields"
    )
    breaker_patience_seconds: float = Field(
        1800, gt=0, description="Seconds that jobs wait for a failing service"
    )
    breaker_window_seconds: float = Field(
        300, gt=0, description="Period of calls, in seconds, that decides whether a breaker opens"
    )
    breaker_share: float = Field(0.5, gt=0, le=1, description="It opens if this share failed")
    breaker_fewest: int = Field(10, ge=1, description="And if there were at least this many calls")
    breaker_cool_down_seconds: float = Field(
        30, gt=0, description="Seconds without calls before one call tries again"
    )
    breakers: Mapping[str, BreakerRule] = Field(
        default_factory=dict[str, BreakerRule],
        description='The same for one service: {"gateway": {"fewest": 5, "share": 0.8}}',
    )
    prices: Mapping[PriceName, Annotated[Decimal, Field(ge=0)]] = Field(
        default_factory=dict[PriceName, Decimal],
        description='What work costs you, for the page of costs: {"cpu_hour": 0.04, "page": 0.001}',
    )
    child_memory_mb: int = Field(896, ge=256, description="Memory one conversion may use")
    child_cpu_seconds: float = Field(
        600, gt=0, description="CPU one conversion may use, OCR included"
    )
    child_cpu_seconds_per_mb: float = Field(
        60, ge=0, description="CPU it may use besides, for each whole MB of the document"
    )
    child_stall_seconds: float = Field(
        10,
        gt=0,
        description="CPU a conversion may use without progress; doing nothing: 10 x as long",
    )
    child_seconds: float = Field(
        6000, gt=0, description="Longest conversion by the wall clock, the last resort"
    )
    keep_uploads_days: float = Field(7, gt=0, description="How long uploads are kept")
    keep_results_days: float = Field(30, gt=0, description="How long results are kept")
    keep_events_days: float = Field(90, gt=0, description="How long events stay in the database")
    retention: Mapping[str, RetentionRule] = Field(
        default_factory=dict[str, RetentionRule],
        description="Periods of a pipeline's own, null is for good; results of `study` are kept "
        'for good: {"invoice": {"uploads_days": 3, "results_days": null}}',
    )
    pressure_percent: int = Field(
        85, ge=1, le=100, description="A disk fuller than this shortens retention"
    )
    pressure_uploads_days: float = Field(
        1, gt=0, description="How long uploads are kept on a disk that is too full"
    )
    pressure_results_days: float = Field(
        7, gt=0, description="How long results are kept on a disk that is too full"
    )
    keep_deliveries_days: float = Field(
        30, gt=0, description="How long the log of webhooks is kept"
    )
    delete_on_download: bool = Field(False, description="Delete a result after its first download")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Verbosity")
    failpoints: str = Field("", description="For tests: points where the process dies")

    @field_validator("trusted_proxies", "webhook_allow", "fetch_allow")
    @classmethod
    def _are_networks(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for network in given:
            ipaddress.ip_network(network, strict=False)
        return given

    @field_validator(
        "pipelines",
        "mappings",
        "desk_users",
        "admin_users",
        "admin_readers",
        "trusted_proxies",
        "hosts",
        "origins",
        "webhook_allow",
        "fetch_allow",
        mode="before",
    )
    @classmethod
    def _split(cls, given: Any) -> Any:
        if isinstance(given, str) and not given.lstrip().startswith("["):
            return tuple(filter(None, (name.strip() for name in given.split(","))))
        return json.loads(given) if isinstance(given, str) else given

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [each for each in given if not ORIGIN.fullmatch(each)]:
            raise ValueError(f"{wrong[0]} is no origin; write it as https://app.example.com")
        return given

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, InitSettingsSource(settings_cls, _read_file())


def fields() -> Mapping[str, FieldInfo]:
    return Settings.model_fields


def _read_file() -> dict[str, Any]:
    path = Path(os.environ.get(CONFIG, "docmill.toml"))
    if not path.is_file():
        if CONFIG in os.environ:
            raise ConfigError(f"{CONFIG} names {path}, which is not a file.")
        return {}
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path} can't be read: {exc}") from None
    for name in found:
        if name not in fields():
            raise ConfigError(
                f"{name} in {path} is not a setting.{suggest_name(name, set(fields()))}"
            )
    return found


def suggest_name(name: str, known: set[str]) -> str:
    bare = {one.removeprefix(PREFIX): one for one in known}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), bare, 1, 0.5)
    return f" Did you mean {bare[near[0]]}?" if near else " `docmill config show` lists them all."
