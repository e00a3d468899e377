"""Receipts: one way to be written, and every changed byte is found."""

import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from docmill.receipts.statement import (
    FORMAT,
    TYPE,
    BadReceiptError,
    find_form,
    make_key,
    name_key,
    read_keys,
    sign,
    verify,
    write_canonical,
    write_key,
)

PRIVATE, PUBLIC = make_key()
_, ANOTHER = make_key()
RESULT, SOURCE = b'{"invoice_number": "17"}', b"%PDF-1.7 an invoice"


def statement(**more: Any) -> dict[str, Any]:
    about = {"sha256": hashlib.sha256(RESULT).hexdigest(), "bytes": len(RESULT)}
    return {"type": TYPE, "format": FORMAT, "results": {"data": about}, **more}


RECEIPT = sign(statement(review={"reviewer": "user:zoë"}), PRIVATE)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=json_values)
def test_a_value_has_one_spelling_whatever_order_it_comes_in(value: Any) -> None:
    written = write_canonical(value)
    assert json.loads(written) == value
    assert write_canonical(json.loads(written)) == written


@given(value=st.dictionaries(st.text(), json_values))
def test_the_order_of_names_does_not_matter(value: dict[str, Any]) -> None:
    assert write_canonical(dict(reversed([*value.items()]))) == write_canonical(value)


@given(number=st.floats())
def test_a_float_is_refused_wherever_it_stands(number: float) -> None:
    for value in (number, [number], {"a": {"b": [1, number]}}):
        with pytest.raises(TypeError, match="float"):
            write_canonical(value)


@given(more=st.dictionaries(st.text(), json_values, max_size=5))
def test_what_was_signed_verifies_and_says_the_same(more: dict[str, Any]) -> None:
    signed = statement(**{f"x{name}": value for name, value in more.items()})
    found = verify(sign(signed, PRIVATE), [ANOTHER, PUBLIC])
    assert (found.statement, found.key, found.trusted) == (signed, name_key(PUBLIC), True)


@given(data=st.data())
def test_every_changed_byte_of_a_receipt_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(RECEIPT) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda one: one != RECEIPT[at]))
    with pytest.raises(BadReceiptError):
        verify(RECEIPT[:at] + bytes([byte]) + RECEIPT[at + 1 :], [PUBLIC])


def test_each_byte_of_a_receipt_is_held_also_without_a_known_key() -> None:
    """Every byte, not a sample, by the bits that make another digit and another case."""
    for at in range(len(RECEIPT)):
        for bit in (0x01, 0x20):
            changed = bytearray(RECEIPT)
            changed[at] ^= bit
            with pytest.raises(BadReceiptError):
                verify(bytes(changed))


@given(data=st.data())
def test_bytes_added_or_taken_out_are_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(RECEIPT)))
    added = data.draw(st.binary(max_size=3))
    gone = data.draw(st.integers(0, 3))
    changed = RECEIPT[:at] + added + RECEIPT[at + gone :]
    if changed != RECEIPT:
        with pytest.raises(BadReceiptError):
            verify(changed, [PUBLIC])


@given(at=st.integers(0, len(RESULT) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_of_a_result_makes_it_another(at: int, byte: int) -> None:
    changed = RESULT[:at] + bytes([byte]) + RESULT[at + 1 :]
    form = find_form(statement(), hashlib.sha256(changed).hexdigest())
    assert form == ("data" if changed == RESULT else None)


def test_another_spelling_and_another_key_are_refused() -> None:
    parsed = json.loads(RECEIPT)
    for spelled in (
        json.dumps(parsed).encode(),
        json.dumps(parsed, indent=2).encode(),
        RECEIPT.rstrip(),
        RECEIPT.replace("zoë".encode(), rb"zo\u00eb"),
        RECEIPT.replace(b'{"signature"', b'{"signature":{},"signature"', 1),
    ):
        with pytest.raises(BadReceiptError):
            verify(spelled)
    with pytest.raises(BadReceiptError, match="do not know"):
        verify(RECEIPT, [ANOTHER])
    forger, _ = make_key()
    assert not verify(sign(statement(), forger)).trusted
    with pytest.raises(BadReceiptError, match="do not know"):
        verify(sign(statement(), forger), [PUBLIC])


def test_keys_are_read_as_a_set_a_pem_or_hex() -> None:
    pem = Ed25519PublicKey.from_public_bytes(PUBLIC).public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    as_set = json.dumps({"keys": [write_key(ANOTHER), write_key(PUBLIC)]}).encode()
    assert read_keys(as_set) == [ANOTHER, PUBLIC]
    for written in (json.dumps(write_key(PUBLIC)).encode(), pem, PUBLIC.hex().encode() + b"\n"):
        assert read_keys(written) == [PUBLIC]
    for bad in (b"", b"{}", b"zz", b"{", PUBLIC.hex()[:-2].encode(), b'{"keys": [1]}', b"[]"):
        with pytest.raises(BadReceiptError):
            read_keys(bad)
