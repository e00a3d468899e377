"""Who owns a document: a user, an anonymous session, the one person of a laptop, or a desk."""

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
    # The desks whose documents and trades the owner may look at; "*" stands for all of them.
    desks: tuple[str, ...] = ()

    @property
    def session_id(self) -> str | None:
        return self.key[8:] if self.key.startswith("session:") else None

    @property
    def user_id(self) -> str | None:
        return self.key[5:] if self.key.startswith("user:") else None


def user(subject: str, *, premium: bool = False, desks: tuple[str, ...] = ()) -> Owner:
    return Owner(OwnerKey(f"user:{subject}"), PREMIUM if premium else STANDARD, desks)


def session(secret: str) -> Owner:
    """The cookie's secret is not kept: its hash names the session. It holds no desk."""
    digest = hashlib.sha256(secret.encode()).hexdigest()[:32]
    return Owner(OwnerKey(f"session:{digest}"))


# The one person of local mode: whoever sits at the machine. Nobody else is there to keep out.
LOCAL: Final = Owner(OwnerKey("local:me"), desks=("*",))


def may_see(owner: Owner, key: str) -> bool:
    """Whether something of that owner is the asker's own, or of a desk open to them."""
    name = key.removeprefix("desk:")
    return key == owner.key or (name != key and bool({"*", name} & set(owner.desks)))


def desk(name: str) -> Owner:
    return Owner(OwnerKey(f"desk:{name}"))
