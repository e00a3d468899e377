"""A statement about a result, its one way to be written, and its signature. No I/O.

A receipt is a file of canonical JSON: names in order, no space, no float, one line. So a changed
byte is a changed receipt, and two who write the same statement write the same file.
"""

import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from docmill.core.json_values import as_object

TYPE: Final = "docmill-receipt"
FORMAT: Final = 1
ALGORITHM: Final = "Ed25519"
KEY_BYTES: Final = 32
HEX_DIGITS: Final = frozenset(b"0123456789abcdef")
LARGEST: Final = 1_000_000  # bytes of a receipt; ours have about two thousand

Statement = Mapping[str, Any]


class BadReceiptError(ValueError):
    """Why a receipt can't be believed, in a sentence."""


def write_canonical(value: object) -> bytes:
    """The only bytes that this value has. Raises TypeError for a float."""
    _refuse_floats(value)
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return text.encode() + b"\n"


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError("a receipt has no floats: two machines may write one in two ways")
    inner: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inner = cast("Mapping[Any, Any]", value).values()
    elif isinstance(value, list | tuple):
        inner = cast("Sequence[Any]", value)
    for each in inner:
        _refuse_floats(each)


def name_key(public: bytes) -> str:
    """A key's name is the beginning of its hash: nobody can give a name to another key."""
    return hashlib.sha256(public).hexdigest()[:16]


def make_key() -> tuple[bytes, bytes]:
    """A new pair: the private half, the public half."""
    private = Ed25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def sign(statement: Statement, private: bytes) -> bytes:
    """The receipt, as it is handed out."""
    key = Ed25519PrivateKey.from_private_bytes(private)
    public = key.public_key().public_bytes_raw()
    signature = {
        "algorithm": ALGORITHM,
        "key": name_key(public),
        "public_key": public.hex(),
        "value": key.sign(write_canonical(statement)).hex(),
    }
    return write_canonical({"signature": signature, "statement": statement})


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """A receipt as it was signed. `trusted`: by one of the keys that the asker gave."""

    statement: dict[str, Any]
    key: str
    trusted: bool


def verify(receipt: bytes, keys: Sequence[bytes] = ()) -> VerifiedReceipt:
    """What it says, if every byte of it is as it was signed. Raises BadReceiptError.

    Without `keys` it says that nothing was changed since, and by which key; not whose key it is.
    """
    found = _parse(receipt)
    statement, signature = found["statement"], found["signature"]
    public, value = _read_hex(signature, "public_key"), _read_hex(signature, "value")
    if signature.get("algorithm") != ALGORITHM or signature.get("key") != name_key(public):
        raise BadReceiptError("its signature names another key than it was made with")
    if keys and public not in keys:
        raise BadReceiptError(f"it is signed by the key {name_key(public)}, which you do not know")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(value, write_canonical(statement))
    except (InvalidSignature, ValueError) as exc:
        raise BadReceiptError(
            "its signature does not fit: it was changed after it was signed"
        ) from exc
    if statement.get("type") != TYPE or statement.get("format") != FORMAT:
        raise BadReceiptError("it is signed, and no receipt that this version of docmill knows")
    return VerifiedReceipt(statement, name_key(public), bool(keys))


def _parse(receipt: bytes) -> dict[str, Any]:
    """Bytes that docmill would write so, all of them; no other spelling of the same counts."""
    if len(receipt) > LARGEST:
        raise BadReceiptError("it is far larger than a receipt")
    try:
        found: Any = json.loads(receipt, parse_float=_refuse_number, parse_constant=_refuse_number)
        same = write_canonical(found) == receipt
    except (ValueError, TypeError, RecursionError) as exc:
        raise BadReceiptError("it is not a receipt, or was cut or changed") from exc
    parts = as_object(found)
    if not all(isinstance(parts.get(name), dict) for name in ("statement", "signature")):
        raise BadReceiptError("it is not a receipt")
    if not same:
        raise BadReceiptError("it is not as docmill writes receipts: it was changed")
    return parts


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of a receipt")


def _read_hex(signature: Mapping[str, Any], name: str) -> bytes:
    text = signature.get(name)
    try:
        found = binascii.unhexlify(text) if isinstance(text, str) else b""
    except ValueError as exc:
        raise BadReceiptError("its signature is damaged") from exc
    if found.hex() != text:
        raise BadReceiptError("its signature is damaged")
    return found


def write_key(public: bytes, **facts: Any) -> dict[str, Any]:
    """A public key as a JWK, which libraries of other languages read too (RFC 8037)."""
    x = binascii.b2a_base64(public, newline=False).decode().rstrip("=")
    jwk = {"kty": "OKP", "crv": ALGORITHM, "use": "sig", "alg": "EdDSA", "kid": name_key(public)}
    return {**jwk, "x": x.translate(str.maketrans("+/", "-_")), **facts}


def read_keys(content: bytes) -> list[bytes]:
    """Public keys out of a file: a JWK set as docmill publishes it, one JWK, a PEM, or hex."""
    try:
        if content.lstrip().startswith(b"-----BEGIN"):
            key = load_pem_public_key(content)
            if isinstance(key, Ed25519PublicKey):
                return [key.public_bytes_raw()]
            raise ValueError("it is not an Ed25519 key")
        if content.lstrip().startswith(b"{"):
            found: dict[str, Any] = json.loads(content)
            return [_read_jwk(one) for one in found.get("keys", [found])]
        if not set(content.strip().lower()) <= HEX_DIGITS:
            raise ValueError("it is no JWK set, no PEM and no hex")
        return [_check_length(binascii.unhexlify(content.strip()))]
    except (ValueError, TypeError, AttributeError) as exc:
        raise BadReceiptError(f"the key can't be read: {exc}") from exc


def _read_jwk(jwk: Mapping[str, Any]) -> bytes:
    if jwk.get("crv") != ALGORITHM:
        raise ValueError("it is not an Ed25519 key")
    text = str(jwk.get("x")).translate(str.maketrans("-_", "+/"))
    return _check_length(binascii.a2b_base64(text + "=" * (-len(text) % 4)))


def _check_length(public: bytes) -> bytes:
    if len(public) != KEY_BYTES:
        raise ValueError(f"an Ed25519 key has {KEY_BYTES} bytes")
    return public


def find_form(statement: Statement, content_sha256: str) -> str | None:
    """Which of the results that a statement names has this hash."""
    results: Mapping[str, Any] = statement["results"]
    return next((form for form, one in results.items() if one["sha256"] == content_sha256), None)
