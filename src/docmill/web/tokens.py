"""Tokens (JWT): which are believed, and what their claims grant."""

from dataclasses import replace
from typing import Any, Final, cast

import jwt

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner
from docmill.core.texts import clean_text
from docmill.web.config import TokenConfig
from docmill.web.issuer_keys import SHAPES, IssuerKeys

LONGEST_TOKEN: Final = 8192
LONGEST_SUBJECT: Final = 255
LONGEST_DESK: Final = 255
MOST_DESKS: Final = 100
# What a broken token, or one with claims of odd types, makes the libraries raise besides their own.
ODD_CLAIMS: Final = (TypeError, ValueError, OverflowError, RecursionError, AttributeError)

MISSING, WRONG, EXPIRED = "missing", "wrong", "expired"
SAYS: Final = {
    MISSING: "Sign in first",
    WRONG: "This token or key isn't valid",
    EXPIRED: "This token or key has expired",
}


def make_unauthorized(state: str, detail: str) -> DocmillError:
    """The refusal, which says whether credentials are missing, wrong or expired."""
    return DocmillError("UNAUTHORIZED", detail, token=state, error=SAYS[state])


class TokenReader:
    """Believes tokens by fixed rules; the issuer's keys are kept for a while."""

    def __init__(self, config: TokenConfig) -> None:
        self._config: TokenConfig = config
        self._keys: IssuerKeys | None = IssuerKeys(config.jwks_url) if config.jwks_url else None

    async def owner(self, token: str) -> Owner:
        if not token:
            raise make_unauthorized(MISSING, "no token")
        if len(token) > LONGEST_TOKEN:
            raise make_unauthorized(WRONG, "the token is too long")
        try:
            claims = await self._claims(token)
        except jwt.ExpiredSignatureError as exc:
            raise make_unauthorized(EXPIRED, "ExpiredSignatureError") from exc
        except (jwt.PyJWTError, *ODD_CLAIMS) as exc:
            raise make_unauthorized(WRONG, type(exc).__name__) from exc
        return read_owner(self._config, claims)

    async def _claims(self, token: str) -> dict[str, Any]:
        """The header's algorithm chooses among keys, never how a key is used."""
        header = jwt.get_unverified_header(token)
        algorithm: Any = header.get("alg")
        if algorithm == "HS256" and self._config.secret:
            return self._decode(token, self._config.secret, "HS256")
        if algorithm in SHAPES and self._keys:
            key = await self._keys.find(header.get("kid"), algorithm)
            return self._decode(token, key, algorithm)
        raise jwt.InvalidAlgorithmError("no key for this algorithm")

    def _decode(self, token: str, key: Any, algorithm: str) -> dict[str, Any]:
        config = self._config
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=config.audience,
            issuer=config.issuer,
            options={
                "require": ["exp", "sub"],
                "verify_aud": config.audience is not None,
                "verify_iss": config.issuer is not None,
                "enforce_minimum_key_length": True,
            },
        )


def read_owner(config: TokenConfig, claims: dict[str, Any]) -> Owner:
    """The user whom checked claims name, with what they grant."""
    subject: Any = claims.get("sub")
    if not _is_name(subject, LONGEST_SUBJECT):
        raise make_unauthorized(WRONG, "the subject is not usable")
    claim = claims.get(config.admin_claim)
    person = owners.user(
        subject,
        premium=claims.get(config.premium_claim) is True,
        desks=_read_desks(config, subject, claims.get(config.desk_claim)),
        admin=subject in config.admin_users or claim is True,
    )
    watches = subject in config.admin_readers or claim == owners.READ
    return replace(person, watches=watches and not person.admin)


def _read_desks(config: TokenConfig, subject: str, claim: Any) -> tuple[str, ...]:
    """The desks a user may look into: all for those the operator names, else by the claim."""
    if subject in config.desk_users or claim is True:
        return ("*",)
    names: Any = [claim] if isinstance(claim, str) else claim
    if not isinstance(names, list):
        return ()
    given = cast("list[Any]", names)[:MOST_DESKS]
    return tuple(name for name in given if _is_name(name, LONGEST_DESK))


def _is_name(given: Any, longest: int) -> bool:
    """Whether a claim is a text that can name somebody."""
    return isinstance(given, str) and 0 < len(given) <= longest and clean_text(given) == given
