"""An OpenID provider on a socket: discovery, authorize with a form, token with PKCE, keys, log-out.

It keeps the protocol as strictly as a real one: a code is good once, for the address and the
verifier it was asked with. `bend` makes it answer wrongly, to see that we notice.
"""

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT_ID = "docmill"
CLIENT_SECRET = "a secret with : and space"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@dataclass
class Provider:
    """What the provider knows; tests read and change it."""

    url: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=new_key)
    kid: str = "first"
    # Claims that ID tokens get besides, or instead; None takes one away.
    bend: dict[str, Any] = field(default_factory=dict[str, Any])
    # How they are signed, where not as they should be.
    sign: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    asked: list[str] = field(default_factory=list[str])
    refusals: list[str] = field(default_factory=list[str])

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            "code_challenge_methods_supported": ["S256"],
            **self.metadata,
        }

    def jwks(self) -> dict[str, Any]:
        jwk: dict[str, Any] = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**jwk, "kid": self.kid, "use": "sig", "alg": "RS256"}]}

    def id_token(self, grant: dict[str, str]) -> str:
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.url,
            "sub": grant["user"],
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": grant["nonce"],
            "name": grant["user"].capitalize(),
            **self.bend,
        }
        given = {name: value for name, value in claims.items() if value is not None}
        key: Any = self.sign.get("key", self.key)
        headers = {"kid": self.sign.get("kid", self.kid)}
        return jwt.encode(given, key, algorithm=self.sign.get("alg", "RS256"), headers=headers)

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """A code for tokens, if everything about it is as it was asked for."""
        grant = self.codes.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "")
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        wrong = [
            name
            for name, good in {
                "client": authorization == basic(CLIENT_ID, CLIENT_SECRET),
                "grant_type": form.get("grant_type") == "authorization_code",
                "code": grant is not None,
                "redirect_uri": bool(grant) and form.get("redirect_uri") == grant["redirect_uri"],
                "verifier": bool(grant) and challenge == grant["code_challenge"],
                "length": 43 <= len(verifier) <= 128,
            }.items()
            if not good
        ]
        if wrong or grant is None:
            self.refusals += wrong
            return 400, {"error": "invalid_grant"}
        return 200, {
            "access_token": secrets.token_urlsafe(16),
            "token_type": "Bearer",
            "expires_in": 300,
            "id_token": self.id_token(grant),
        }


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Answers(BaseHTTPRequestHandler):
    """Of one provider; `provider()` makes a class with it."""

    provider: Provider

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.provider.asked.append(url.path)
        given = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/.well-known/openid-configuration":
            self._json(200, self.provider.discovery())
        elif url.path == "/jwks":
            self._json(200, self.provider.jwks())
        elif url.path == "/authorize":
            self._form(given)
        else:
            self._send(200, b"<h1>Goodbye</h1>", "text/html")

    def do_POST(self) -> None:
        self.provider.asked.append(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if self.path == "/token":
            self._json(*self.provider.exchange(form, self.headers.get("authorization", "")))
            return
        code = secrets.token_urlsafe(16)
        self.provider.codes[code] = form
        back = urlencode({"code": code, "state": form["state"]})
        self.send_response(302)
        self.send_header("location", f"{form['redirect_uri']}?{back}")
        self.send_header("content-length", "0")
        self.end_headers()

    def _form(self, given: dict[str, str]) -> None:
        good = {
            "client_id": CLIENT_ID, "response_type": "code", "code_challenge_method": "S256",
        }  # fmt: skip
        wrong = [name for name, value in good.items() if given.get(name) != value]
        wrong += [name for name in ("state", "nonce", "code_challenge") if not given.get(name)]
        wrong += [] if "openid" in given.get("scope", "").split() else ["scope"]
        if wrong:
            self.provider.refusals += wrong
            self._send(400, b"bad request", "text/plain")
            return
        hidden = "".join(
            f'<input type="hidden" name="{name}" value="{html.escape(value)}">'
            for name, value in given.items()
        )
        page = (
            '<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1>'
            f'<form method="post" action="/login">{hidden}<label>User <input name="user">'
            "</label><button>Continue</button></form>"
        )
        self._send(200, page.encode(), "text/html")

    def _json(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def provider() -> Generator[Provider]:
    """Runs until the block ends."""
    known = Provider()
    answers = type("ProviderAnswers", (Answers,), {"provider": known})
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
