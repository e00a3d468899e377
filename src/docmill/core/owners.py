"""Who owns a document: a user, an anonymous session, the one person of a laptop, or a desk."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NewType

OwnerKey = NewType("OwnerKey", str)

STANDARD: Final = 0
PREMIUM: Final = 10
# What a key may be made for: asking, changing, and whatever its maker may do besides.
READ: Final = "read"
WRITE: Final = "write"
ADMIN: Final = "admin"
SCOPES: Final = (READ, WRITE, ADMIN)


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner as the database knows it, with what a claim in the token grants."""

    key: OwnerKey
    priority: int = STANDARD
    # The desks whose documents and trades the owner may look at; "*" stands for all of them.
    desks: tuple[str, ...] = ()
    # Whether the owner looks after the installation.
    admin: bool = False
    # Whether the owner may look at all of it, and change nothing.
    watches: bool = False
    # What the credentials allow; those of a person allow everything.
    scopes: tuple[str, ...] = SCOPES

    @property
    def session_id(self) -> str | None:
        return self.key[8:] if self.key.startswith("session:") else None

    @property
    def user_id(self) -> str | None:
        return self.key[5:] if self.key.startswith("user:") else None

    @property
    def grants(self) -> dict[str, Any]:
        """What was granted beyond being an owner, as it is kept with keys and sessions."""
        granted = {"priority": self.priority, "desks": list(self.desks), "admin": self.admin}
        return {**granted, "watches": True} if self.watches else granted


def user(
    subject: str, *, premium: bool = False, desks: tuple[str, ...] = (), admin: bool = False
) -> Owner:
    return Owner(OwnerKey(f"user:{subject}"), PREMIUM if premium else STANDARD, desks, admin)


def session(secret: str) -> Owner:
    """The cookie's secret is not kept: its hash names the session. It holds no desk."""
    digest = hashlib.sha256(secret.encode()).hexdigest()[:32]
    return Owner(OwnerKey(f"session:{digest}"))


def restore(key: str, grants: Mapping[str, Any]) -> Owner:
    """The owner of a key or a session with what was granted when it was made."""
    return Owner(
        OwnerKey(key),
        int(grants.get("priority", STANDARD)),
        tuple(grants.get("desks", ())),
        grants.get("admin") is True,
        grants.get("watches") is True,
    )


def limit(owner: Owner, scopes: tuple[str, ...]) -> Owner:
    """The owner as somebody who holds only these scopes."""
    is_for_it = ADMIN in scopes
    return replace(
        owner, scopes=scopes, admin=owner.admin and is_for_it, watches=owner.watches and is_for_it
    )


# The one person of local mode: whoever sits at the machine. Nobody else is there to keep out.
LOCAL: Final = Owner(OwnerKey("local:me"), desks=("*",), admin=True)


def may_see(owner: Owner, key: str) -> bool:
    """Whether something of that owner is the asker's own, or of a desk open to them."""
    name = key.removeprefix("desk:")
    return key == owner.key or (name != key and bool({"*", name} & set(owner.desks)))


def desk(name: str) -> Owner:
    return Owner(OwnerKey(f"desk:{name}"))
