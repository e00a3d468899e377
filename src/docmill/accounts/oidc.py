"""Signing in with an OpenID provider: the code flow with PKCE, by Authlib.

Authlib makes and checks state, nonce, code verifier and the ID token. What is ours: where the
flow's secrets are kept meanwhile (a signed cookie of ten minutes), and which algorithms count.
"""

import base64
import hmac
import json
import time
from typing import Any, Final, cast

import httpx2
import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import DocmillError
from docmill.db.pool import Pool
from docmill.web.config import SignInConfig
from docmill.web.sessions import load_shared_secret

log = structlog.get_logger()

DISCOVERY: Final = "/.well-known/openid-configuration"
NAME: Final = "provider"
FLOW_SECONDS: Final = 600
FETCH_SECONDS: Final = 10
LEEWAY_SECONDS: Final = 60
# Signed with a key of the provider's alone: nothing that a client's secret could sign.
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "EdDSA",
)
UNREACHABLE: Final = (httpx2.HTTPError, httpx2.InvalidURL)
# What a provider that keeps no protocol makes the library raise.
REFUSED: Final = (
    AuthlibBaseError,
    JoseError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
)


class IdentityProvider:
    """The provider of this site; `is_set` where there is one."""

    def __init__(self, config: SignInConfig, pool: Pool) -> None:
        self.config: SignInConfig = config
        self._pool: Pool = pool
        self._secret: bytes | None = None
        self._client: Any = None

    @property
    def is_set(self) -> bool:
        return self.config.issuer is not None

    async def begin(self, request: Request, callback_url: str, after: str) -> tuple[Response, str]:
        """The way to the provider, and what the browser has to keep until it is back."""
        request.scope["session"] = {"after": after}
        try:
            client = await self._open()
            response = await client.authorize_redirect(request, callback_url)
        except UNREACHABLE as exc:
            raise _make_unreachable(exc) from exc
        except REFUSED as exc:
            raise _make_failed(exc) from exc
        return response, await self._seal(request.session)

    async def finish(self, request: Request, kept: str) -> tuple[dict[str, Any], str]:
        """The checked claims of who came back, and where they were going."""
        request.scope["session"] = await self._unseal(kept)
        after = str(request.session.get("after", ""))
        try:
            client = await self._open()
            token = await client.authorize_access_token(request, leeway=LEEWAY_SECONDS)
        except UNREACHABLE as exc:
            raise _make_unreachable(exc) from exc
        except REFUSED as exc:
            raise _make_failed(exc) from exc
        claims: Any = token.get("userinfo")
        if not claims:
            raise DocmillError("SIGN_IN_FAILED", "the provider sent no ID token")
        return dict(cast("dict[str, Any]", claims)), after

    async def find_logout(self, back: str) -> str | None:
        """Where a provider wants people to go who sign out, if it has such a page."""
        try:
            client = await self._open()
            if not client.server_metadata.get("end_session_endpoint"):
                return None
            found = await client.create_logout_url(
                post_logout_redirect_uri=back, client_id=self.config.client_id
            )
        except (*UNREACHABLE, *REFUSED) as exc:
            log.warning("sign_out.provider_away", error=type(exc).__name__)
            return None
        return found["url"]

    async def _open(self) -> Any:
        """The client, with what the provider says of itself."""
        if self._client is None:
            self._client = self._register()
        metadata: dict[str, Any] = await self._client.load_server_metadata()
        issuer = (self.config.issuer or "").rstrip("/")
        if str(metadata.get("issuer", "")).rstrip("/") != issuer:
            self._client = None
            raise DocmillError("SIGN_IN_FAILED", "the provider is another issuer than was set")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        known = [name for name in offered if name in ALGORITHMS]
        metadata["id_token_signing_alg_values_supported"] = known or ["RS256"]
        return self._client

    def _register(self) -> Any:
        config = self.config
        registry: Any = OAuth()
        registry.register(
            name=NAME,
            server_metadata_url=(config.issuer or "").rstrip("/") + DISCOVERY,
            client_id=config.client_id,
            client_secret=config.client_secret,
            client_kwargs={
                "scope": config.scopes,
                "code_challenge_method": "S256",
                "timeout": FETCH_SECONDS,
                "token_endpoint_auth_method": "client_secret_basic"
                if config.client_secret
                else "none",
            },
        )
        return registry.create_client(NAME)

    async def _seal(self, session: dict[str, Any]) -> str:
        """Signed, with the time it is good until; the cookie is none that scripts can read."""
        kept = json.dumps({**session, "until": time.time() + FLOW_SECONDS}).encode()
        body = base64.urlsafe_b64encode(kept).decode().rstrip("=")
        return f"{body}.{await self._sign(body)}"

    async def _unseal(self, kept: str) -> dict[str, Any]:
        body, _, proof = kept.partition(".")
        if not hmac.compare_digest(proof.encode(), (await self._sign(body)).encode()):
            raise DocmillError("SIGN_IN_FAILED", "the flow was not begun in this browser")
        session = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if session.pop("until") < time.time():
            raise DocmillError("SIGN_IN_FAILED", "the flow took too long")
        return session

    async def _sign(self, body: str) -> str:
        if self._secret is None:
            self._secret = await load_shared_secret(self._pool, "sign-in")
        digest = hmac.digest(self._secret, body.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _make_unreachable(exc: Exception) -> DocmillError:
    return DocmillError("SIGN_IN_UNREACHABLE", type(exc).__name__, retryAfter=10)


def _make_failed(exc: Exception) -> DocmillError:
    """Their error's name, not its text: that may quote what was sent."""
    if isinstance(exc, DocmillError):
        return exc
    return DocmillError(
        "SIGN_IN_FAILED", f"{type(exc).__name__} {getattr(exc, 'error', '')}".strip()
    )
