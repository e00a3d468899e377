"""Signatures, held against the published library of Standard Webhooks."""

import time
from uuid import uuid4

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from docmill.webhooks import signing

BODY = '{"type":"job.complete","data":{"name":"Größe"}}'.encode()


def headers(*secrets: str) -> dict[str, str]:
    return signing.sign(signing.name_message(uuid4()), int(time.time()), BODY, secrets)


def test_the_published_library_verifies_what_is_signed() -> None:
    secret = signing.make_secret()
    assert secret.startswith("whsec_")
    assert Verifier(secret).verify(BODY, headers(secret))["type"] == "job.complete"


def test_it_is_signed_as_the_library_signs() -> None:
    secret, at = signing.make_secret(), int(time.time())
    ours = signing.sign("msg_1", at, BODY, [secret])
    with pytest.raises(WebhookVerificationError):
        Verifier(secret).verify(BODY + b" ", ours)
    with pytest.raises(WebhookVerificationError):
        Verifier(secret).verify(BODY, {**ours, "webhook-id": "msg_2"})
    with pytest.raises(WebhookVerificationError):
        Verifier(secret).verify(BODY, {**ours, "webhook-timestamp": str(at + 1)})


def test_with_two_secrets_each_of_them_verifies_it_and_no_third() -> None:
    new, old = signing.make_secret(), signing.make_secret()
    for secret in (new, old):
        Verifier(secret).verify(BODY, headers(new, old))
    with pytest.raises(WebhookVerificationError):
        Verifier(signing.make_secret()).verify(BODY, headers(new, old))
