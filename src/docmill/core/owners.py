"""Who owns a document: a user, an anonymous browser session, or a bucket's desk."""

import hashlib
from dataclasses import dataclass
from typing import Final, NewType

OwnerKey = NewType("OwnerKey", str)

STANDARD: Final = 0
PREMIUM: Final = 10


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner as the database knows it, with what a claim in the token grants."""

    key: OwnerKey
    priority: int = STANDARD

    @property
    def session_id(self) -> str | None:
        return self.key[8:] if self.key.startswith("session:") else None

    @property
    def user_id(self) -> str | None:
        return self.key[5:] if self.key.startswith("user:") else None


def user(subject: str, *, premium: bool = False) -> Owner:
    return Owner(OwnerKey(f"user:{subject}"), PREMIUM if premium else STANDARD)


def session(cookie: str) -> Owner:
    """The cookie is a secret and is not kept: its hash names the session."""
    return Owner(OwnerKey(f"session:{hashlib.sha256(cookie.encode()).hexdigest()[:32]}"))


def desk(name: str) -> Owner:
    return Owner(OwnerKey(f"desk:{name}"))
