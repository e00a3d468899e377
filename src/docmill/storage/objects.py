"""S3 and its kin (R2, MinIO), and Azure Blob, by obstore: its plain calls, never its async ones.

On Python 3.11 its async streams abort the process at exit, and a stream of its own cannot be put.
Names that it can't speak of go by requests of our own, where we have the keys for that.
"""

import os
import re
from base64 import b64encode
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Any, BinaryIO, Final, Literal, cast

import obstore
import structlog
from obstore import exceptions
from obstore.store import AzureStore, S3Store

from docmill.storage.contract import CHUNK, PAGE, Metadata, ObjectInfo, SignedPut, merge_metadata
from docmill.storage.names import key_of, name_of
from docmill.storage.remote import RemoteStore, spool_chunks
from docmill.storage.retry import StoreError
from docmill.storage.signed import (
    SYSTEM,
    AzureDialect,
    ListedObject,
    OpenedObject,
    RefusedError,
    S3Dialect,
    SignedBucket,
    is_plain,
)

log = structlog.get_logger()

PART: Final = 8 << 20
# Tries are counted in one place, which is ours.
ALONE: Final[Any] = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}
LONGEST_VALUE: Final = 1000
# What S3 allows of metadata, names and values together.
MOST_METADATA: Final = 1800
STATUS: Final = re.compile(r"\b[45]\d\d [A-Z][A-Za-z ]{2,30}")
NO_ASCII: Final = "contained non UTF-8 characters"
ODD_PATH: Final = re.compile(r'Path "(.+)"(?: contained|: Encountered)', re.DOTALL)
# The first thing in a path that obstore refuses.
ODD_PART: Final = re.compile(r"[\x00-\x1f\x7f]|(?:^|(?<=/))\.{0,2}/|(?<=/)\.{1,2}$")
TRUE: Final = frozenset({"1", "true", "on", "yes", "y"})
_list: Final[Any] = getattr(obstore, "list")  # noqa: B009  one of its types is not installed

Bucket = S3Store | AzureStore


def open_s3(bucket: str, prefix: str, options: Mapping[str, str]) -> RemoteStore:
    """Keys and region come from the AWS_ variables every tool knows."""
    endpoint = (
        options.get("endpoint")
        or os.environ.get("AWS_ENDPOINT_URL_S3")
        or os.environ.get("AWS_ENDPOINT_URL")
    )
    config: dict[str, Any] = {"region": options.get("region") or _find_region()}
    if endpoint:
        config["endpoint"] = endpoint
    opened = S3Store(
        bucket,
        config=cast(Any, config),
        client_options=_client_options(endpoint),
        retry_config=ALONE,
    )
    signed = _open_signed_s3(bucket, endpoint, config["region"])
    return RemoteStore(ObjectDriver(opened, signed, f"s3://{bucket}", prefix))


def _open_signed_s3(bucket: str, endpoint: str | None, region: str) -> SignedBucket | None:
    """Where the environment has the keys; obstore alone knows those of a machine's role."""
    key_id, secret = _read_variable("AWS_ACCESS_KEY_ID"), _read_variable("AWS_SECRET_ACCESS_KEY")
    if not key_id or not secret or _read_variable("AWS_SKIP_SIGNATURE").lower() in TRUE:
        return None
    if _read_variable("AWS_VIRTUAL_HOSTED_STYLE_REQUEST").lower() in TRUE:
        address = endpoint or f"https://{bucket}.s3.{region}.amazonaws.com"
    else:
        address = f"{(endpoint or f'https://s3.{region}.amazonaws.com').rstrip('/')}/{bucket}"
    token = _read_variable("AWS_SESSION_TOKEN") or _read_variable("AWS_TOKEN")
    return SignedBucket(S3Dialect(address.rstrip("/"), region, key_id, secret, token))


def open_azure(container: str, prefix: str, options: Mapping[str, str]) -> RemoteStore:
    """The account comes from the AZURE_STORAGE_ variables, also as a connection string."""
    parsed = dict(
        part.split("=", 1)
        for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";")
        if "=" in part
    )
    endpoint = options.get("endpoint") or parsed.get("BlobEndpoint")
    found = {
        "account_name": options.get("account") or parsed.get("AccountName"),
        "account_key": parsed.get("AccountKey"),
        "endpoint": endpoint,
    }
    config = {name: value for name, value in found.items() if value}
    opened = AzureStore(
        container,
        config=cast(Any, config),
        client_options=_client_options(endpoint),
        retry_config=ALONE,
    )
    signed = _open_signed_azure(container, config)
    return RemoteStore(ObjectDriver(opened, signed, f"az://{container}", prefix))


def _open_signed_azure(container: str, config: Mapping[str, str]) -> SignedBucket | None:
    """Where there is a key of the account; tokens and identities are known to obstore alone."""
    account = config.get("account_name") or _read_variable("AZURE_STORAGE_ACCOUNT_NAME")
    key = config.get("account_key") or _read_variable("AZURE_STORAGE_ACCOUNT_KEY")
    if not account or not key:
        return None
    endpoint = config.get("endpoint") or f"https://{account}.blob.core.windows.net"
    return SignedBucket(AzureDialect(f"{endpoint.rstrip('/')}/{container}", account, key))


def _read_variable(name: str) -> str:
    return os.environ.get(name, "")


def _find_region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _client_options(endpoint: str | None) -> Any:
    plain = (endpoint or "").startswith("http://")
    return {
        "connect_timeout": "5s",
        "read_timeout": "60s",
        "timeout": "300s",
        "allow_http": plain,
    }


class ObjectDriver:
    """One bucket, below a prefix."""

    def __init__(self, bucket: Bucket, signed: SignedBucket | None, name: str, prefix: str) -> None:
        self._bucket: Bucket = bucket
        self._signed: SignedBucket | None = signed
        self._prefix: str = f"{prefix}/" if prefix else ""
        self.name: str = f"{name}/{prefix}" if prefix else name

    def _name(self, key: str) -> bytes:
        return self._prefix.encode() + name_of(key)

    def _path(self, key: str) -> str:
        return self._name(key).decode()

    def _signed_for(self, key: str) -> SignedBucket | None:
        """For a key that obstore can't speak of; without one it will say so."""
        return None if is_plain(self._name(key)) else self._signed

    def put(self, key: str, file: BinaryIO, metadata: Metadata) -> None:
        with translate_errors():
            self._send(key, file, _clean_metadata(metadata))

    def _send(self, key: str, file: BinaryIO, attributes: Mapping[str, str]) -> None:
        obstore.put(
            self._bucket,
            self._path(key),
            file,
            attributes=cast(Any, attributes),
            chunk_size=PART,
            max_concurrency=2,
        )

    def create(self, key: str, data: bytes) -> bool:
        with translate_errors():
            try:
                obstore.put(self._bucket, self._path(key), data, mode="create")
            except exceptions.AlreadyExistsError:
                return False
            return True

    def head(self, key: str) -> ObjectInfo | None:
        with translate_errors():
            try:
                found = self._head(key)
            except FileNotFoundError:
                return None
            return self._describe(found.listed, _read_metadata(found.attributes))

    def _head(self, key: str) -> OpenedObject:
        if signed := self._signed_for(key):
            return signed.head(self._name(key))
        try:
            return self._get(key, {"head": True})
        except exceptions.GenericError as exc:
            return self._signed_after(exc).head(self._name(key))

    @contextmanager
    def _open(self, key: str, tag: str | None = None) -> Generator[OpenedObject]:
        """The object, or FileNotFoundError where a tag is asked for and it has another."""
        signed = self._signed_for(key)
        if signed is None:
            try:
                opened = self._get(key, {"if_match": f'"{tag}"'} if tag else {})
            except exceptions.PreconditionError as exc:
                raise FileNotFoundError("there is a newer generation") from exc
            except exceptions.GenericError as exc:
                signed = self._signed_after(exc)
            else:
                yield opened
                return
        with signed.open(self._name(key), tag) as opened:
            yield opened

    def _get(self, key: str, options: Any) -> OpenedObject:
        found = obstore.get(self._bucket, self._path(key), options=options)
        chunks = (bytes(chunk) for chunk in found.stream(min_chunk_size=CHUNK))
        return OpenedObject(
            _convert_listed(found.meta), _plain_attributes(found.attributes), chunks
        )

    def _signed_after(self, exc: exceptions.GenericError) -> SignedBucket:
        """For an object that obstore does not give out, since its metadata is no ASCII."""
        if self._signed is None or NO_ASCII not in str(exc):
            raise exc
        return self._signed

    def _describe(self, listed: ListedObject, metadata: Metadata | None = None) -> ObjectInfo:
        """Lists know no version: the tag and the second it was written stand for it."""
        at = listed.changed_at
        key = key_of(listed.name.removeprefix(self._prefix.encode()))
        return ObjectInfo(key, listed.bytes, at, f"{listed.tag}@{int(at.timestamp())}", metadata)

    def read(self, key: str) -> Iterator[bytes]:
        with translate_errors(), self._open(key) as found:
            yield from found.chunks

    def delete(self, key: str) -> None:
        with translate_errors():
            try:
                if signed := self._signed_for(key):
                    signed.delete(self._name(key))
                else:
                    obstore.delete(self._bucket, self._path(key))
            except FileNotFoundError:
                return

    def copy(self, stored: ObjectInfo, to: str, metadata: Metadata) -> None:
        """Through us: a copy made by the server could be one of a newer generation."""
        tag = stored.generation.rpartition("@")[0]
        with translate_errors(), self._open(stored.key, tag) as found:
            attributes = merge_metadata(
                _fit_metadata(found.attributes, metadata), _clean_metadata(metadata)
            )
            with spool_chunks(found.chunks) as file:
                self._send(to, file, attributes)

    def remove(self, stored: ObjectInfo) -> None:
        """Neither knows a conditional delete by this library: look, then delete at once."""
        now = self.head(stored.key)
        if now is not None and now.generation == stored.generation:
            self.delete(stored.key)

    def pages(self, prefix: str, after: str) -> Iterator[list[ObjectInfo]]:
        with translate_errors():
            folder = f"{self._prefix}{prefix}/" if prefix else self._prefix
            for page in self._pages(folder, self._name(after) if after else b""):
                yield [self._describe(listed) for listed in page]

    def _pages(self, folder: str, after: bytes) -> Iterator[list[ListedObject]]:
        """By requests of our own, since obstore lists nothing beside a name it can't speak of."""
        if self._signed is not None:
            try:
                for page in self._signed.pages(folder.encode(), after):
                    yield page
                    after = page[-1].name
            except RefusedError as exc:
                log.warning("bucket.own_listing_refused", detail=str(exc))
            else:
                return
        yield from self._plain_pages(folder.rstrip("/"), after.decode("utf-8", "replace"))

    def _plain_pages(self, folder: str, after: str) -> Iterator[list[ListedObject]]:
        """By obstore, going on behind a name it refuses; what came before in its page is lost."""
        while True:
            try:
                for page in _list(self._bucket, folder, offset=after or None, chunk_size=PAGE):
                    yield [_convert_listed(meta) for meta in page]
                    after = page[-1]["path"]
            except exceptions.InvalidPathError as exc:
                odd = ODD_PATH.search(str(exc))
                if odd is None or _path_after(odd[1]) <= after:
                    raise
                log.warning("bucket.name_left_out", detail="only obstore knows the keys")
                after = _path_after(odd[1])
            else:
                return

    def sign(self, key: str, expires: timedelta) -> str | None:
        return self._sign(key, "GET", expires)

    def sign_put(self, key: str, size: int, expires: timedelta) -> SignedPut | None:
        """Azure wants the kind of object named in every such request."""
        url = self._sign(key, "PUT", expires)
        kind = {"x-ms-blob-type": "BlockBlob"} if isinstance(self._bucket, AzureStore) else {}
        return SignedPut(url, kind) if url else None

    def _sign(self, key: str, method: Literal["GET", "PUT"], expires: timedelta) -> str | None:
        if not is_plain(self._name(key)):
            return None
        with translate_errors():
            try:
                return obstore.sign(self._bucket, method, self._path(key), expires)
            except exceptions.NotSupportedError:
                return None

    def close(self) -> None:
        """obstore has nothing to close."""
        if self._signed is not None:
            self._signed.close()


def _path_after(odd: str) -> str:
    """A path that obstore takes, behind all names that are odd in the same place."""
    part = ODD_PART.search(odd)
    if part is None:
        return odd
    if part[0].endswith("/"):
        return f"{odd[: part.end() - 1]}0"  # what follows a slash in the order of names
    if part[0].startswith("."):
        return f"{odd} "
    return odd[: part.start()] + ("\x80" if part[0] == "\x7f" else " ")


def _convert_listed(meta: Any) -> ListedObject:
    tag = (meta["e_tag"] or "").strip('"')
    return ListedObject(meta["path"].encode(), meta["size"], meta["last_modified"], tag)


def _clean_metadata(metadata: Metadata) -> dict[str, str]:
    """Metadata travels in headers: short, on one line, in ASCII."""
    return {
        name: "".join(c if c.isprintable() and c.isascii() else "?" for c in value)[:LONGEST_VALUE]
        for name, value in metadata.items()
    }


def _fit_metadata(known: Metadata, news: Metadata) -> dict[str, str]:
    """What is known of an object, as far as it has room beside the news: the short ones first."""
    room = MOST_METADATA - sum(
        len(name) + len(value) for name, value in _clean_metadata(news).items()
    )
    kept: dict[str, str] = {}
    carried = {name: _encode_value(value) for name, value in known.items()}
    for name, value in sorted(carried.items(), key=lambda pair: len(pair[1])):
        room -= 0 if name in SYSTEM else len(name) + len(value.encode())
        if name in SYSTEM or room >= 0:
            kept[name] = value
    return kept


def _plain_attributes(found: Mapping[Any, str]) -> dict[str, str]:
    return {str(name): value for name, value in found.items()}


def _read_metadata(found: Metadata) -> dict[str, str]:
    return {name: _decode_value(value) for name, value in found.items() if name not in SYSTEM}


def _encode_value(value: str) -> str:
    """What is no ASCII travels as in mails, which is how S3 itself gives it out."""
    return value if value.isascii() else f"=?UTF-8?B?{b64encode(value.encode()).decode()}?="


def _decode_value(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, ValueError):
        return value


@contextmanager
def translate_errors() -> Generator[None]:
    """The library's exceptions as ours.

    Without their text, which holds the names of objects, requests and signatures. A key that the
    library can't name, one with an empty part say, is a ValueError to it.
    """
    try:
        yield
    except exceptions.BaseError as exc:
        status = STATUS.search(str(exc))
        raise StoreError(f"{type(exc).__name__} {status[0] if status else ''}".strip()) from None
    except ValueError as exc:
        raise StoreError(f"a name that can't be had: {type(exc).__name__}") from None
