"""Signatures as Standard Webhooks has them, so that receivers can check them with its libraries."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final
from uuid import UUID

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32


def make_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def name_message(event_id: UUID) -> str:
    """The id of an event as receivers see it: the same with every try and to every webhook."""
    return f"msg_{event_id.hex}"


def sign(message: str, at: int, body: bytes, known: Sequence[str]) -> dict[str, str]:
    """The headers of a request, signed with each of the secrets; `at` is in seconds."""
    signed = f"{message}.{at}.".encode() + body
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{_sign_one(signed, secret)}" for secret in known),
    }


def _sign_one(signed: bytes, secret: str) -> str:
    key = binascii.a2b_base64(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
