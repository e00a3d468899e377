"""Who owns a document."""

from hypothesis import given
from hypothesis import strategies as st

from docmill.core import owners
from docmill.core.owners import PREMIUM, STANDARD, Owner, OwnerKey

TEXT = st.text(min_size=1)


@given(TEXT)
def test_a_user_is_named_by_the_subject(subject: str) -> None:
    owner = owners.user(subject)
    assert (owner.user_id, owner.session_id, owner.priority) == (subject, None, STANDARD)


def test_a_premium_user_comes_first() -> None:
    assert owners.user("ann", premium=True).priority == PREMIUM == 10
    assert owners.user("ann").priority == STANDARD == 0
    assert owners.user("ann", premium=True).key == owners.user("ann").key


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_session_is_named_without_its_secret(cookie: str) -> None:
    owner = owners.session(cookie)
    assert owner == owners.session(cookie)
    assert owner.user_id is None
    assert owner.session_id is not None
    assert len(owner.session_id) == 32
    assert len(cookie) < 3 or cookie not in owner.key.removeprefix("session:")


@given(TEXT, TEXT)
def test_two_kinds_of_owner_are_never_the_same(one: str, other: str) -> None:
    keys = {owners.user(one).key, owners.desk(other).key, owners.session("cookie").key}
    assert len(keys) == 3


def test_a_desk_is_neither_user_nor_session() -> None:
    desk = owners.desk("trades")
    assert desk == Owner(OwnerKey("desk:trades"))
    assert (desk.user_id, desk.session_id) == (None, None)
