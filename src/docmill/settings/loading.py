"""Settings as a process reads them at its start: each name known, each value good, all together."""

import ipaddress
import os
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsError

from docmill.settings.fields import (
    OTHER_NAMES,
    PREFIX,
    ConfigError,
    Settings,
    fields,
    suggest_name,
)


def read_settings(**given: Any) -> Settings:
    """The settings, or BadSettings that says what to change. `given` is the command line's."""
    _check_names()
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as exc:
        raise ConfigError("\n".join(_describe_error(error) for error in exc.errors())) from None
    except SettingsError as exc:
        raise ConfigError(f"{exc}.\nSuch a setting is written as JSON.") from None
    _check_together(settings)
    return settings


def _check_names() -> None:
    known = {PREFIX + name.upper() for name in fields()} | OTHER_NAMES
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            raise ConfigError(f"{name} is not a setting.{suggest_name(name, known)}")


def _check_together(settings: Settings) -> None:
    if settings.heartbeat_seconds >= settings.lease_seconds:
        raise ConfigError("DOCMILL_HEARTBEAT_SECONDS must be smaller than DOCMILL_LEASE_SECONDS.")
    if settings.auth_mode == "local" and not is_for_one_person(settings):
        raise ConfigError(
            "AUTH_MODE=local lets in whoever reaches docmill, so it needs a loopback DOCMILL_HOST, "
            "such as 127.0.0.1, and no DOCMILL_HOSTS.\nSet AUTH_MODE to session, jwt or both."
        )
    _check_users(settings)
    for name in ("invoice_reader", "trades_reader", "fields_reader"):
        if getattr(settings, name) in {"model", "both"} and not settings.openai_model:
            raise ConfigError(
                f"DOCMILL_{name.upper()}={getattr(settings, name)} needs DOCMILL_OPENAI_MODEL.\n"
                "Name the model there, or set the reader to rules."
            )
    if settings.reader == "azure" and not (settings.reader_endpoint and settings.reader_key):
        raise ConfigError(
            "DOCMILL_READER=azure needs DOCMILL_READER_ENDPOINT and DOCMILL_READER_KEY."
        )


def _check_users(settings: Settings) -> None:
    """What it takes to know users: by tokens, or by a provider they sign in with."""
    knows_users = settings.auth_mode in {"jwt", "both"}
    if knows_users and not (settings.jwt_secret or settings.jwt_jwks_url or settings.oidc_issuer):
        raise ConfigError(
            f"AUTH_MODE={settings.auth_mode} needs DOCMILL_JWT_SECRET or DOCMILL_JWT_JWKS_URL, or "
            "DOCMILL_OIDC_ISSUER for people who sign in."
        )
    if settings.jwt_secret and len(settings.jwt_secret.get_secret_value().encode()) < 32:
        raise ConfigError("DOCMILL_JWT_SECRET is too short: use at least 32 bytes.")
    if settings.oidc_issuer and not settings.oidc_client_id:
        raise ConfigError("DOCMILL_OIDC_ISSUER needs DOCMILL_OIDC_CLIENT_ID.")
    if settings.oidc_issuer and not knows_users:
        raise ConfigError("DOCMILL_OIDC_ISSUER needs AUTH_MODE=jwt, or both for guests as well.")


def adapt_for_serve(settings: Settings) -> Settings:
    """As `docmill serve` takes them: whoever sits at the machine needs no session."""
    if settings.auth_mode or settings.production or not is_for_one_person(settings):
        return settings
    return settings.model_copy(update={"auth_mode": "local"})


def is_for_one_person(settings: Settings) -> bool:
    """Whether only this machine reaches docmill, as far as the settings tell."""
    return is_loopback(settings.host) and all(map(is_loopback, settings.hosts))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _describe_error(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    name = where if where.isupper() else PREFIX + where.upper()
    return f"{name}: {error['msg']}."
