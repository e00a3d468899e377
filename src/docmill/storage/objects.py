"""S3 and its kin (R2, MinIO), and Azure Blob, by obstore: its plain calls, never its async ones.

On Python 3.11 its async streams abort the process at exit, and a stream of its own cannot be put.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, BinaryIO, Final, cast

import obstore
from obstore import exceptions
from obstore.store import AzureStore, S3Store

from docmill.storage.contract import CHUNK, PAGE, Metadata, Stored, changed
from docmill.storage.remote import RemoteStore, filled
from docmill.storage.trying import StoreError

PART: Final = 8 << 20
# Tries are counted in one place, which is ours.
ALONE: Final[Any] = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}
CONTENT_TYPE: Final = "Content-Type"
SYSTEM: Final = frozenset(
    {CONTENT_TYPE, "Content-Disposition", "Content-Encoding", "Content-Language", "Cache-Control"}
)
LONGEST_VALUE: Final = 1000
_list: Final[Any] = getattr(obstore, "list")  # noqa: B009  one of its types is not installed

Bucket = S3Store | AzureStore


def open_s3(bucket: str, prefix: str, options: Mapping[str, str]) -> RemoteStore:
    """Keys and region come from the AWS_ variables every tool knows."""
    endpoint = (
        options.get("endpoint")
        or os.environ.get("AWS_ENDPOINT_URL_S3")
        or os.environ.get("AWS_ENDPOINT_URL")
    )
    config: dict[str, Any] = {"region": options.get("region") or _region()}
    if endpoint:
        config["endpoint"] = endpoint
    opened = S3Store(
        bucket, config=cast(Any, config), client_options=_client(endpoint), retry_config=ALONE
    )
    return RemoteStore(ObjectDriver(opened, f"s3://{bucket}", prefix))


def open_azure(container: str, prefix: str, options: Mapping[str, str]) -> RemoteStore:
    """The account comes from the AZURE_STORAGE_ variables, also as a connection string."""
    told = dict(
        part.split("=", 1)
        for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";")
        if "=" in part
    )
    endpoint = options.get("endpoint") or told.get("BlobEndpoint")
    found = {
        "account_name": options.get("account") or told.get("AccountName"),
        "account_key": told.get("AccountKey"),
        "endpoint": endpoint,
    }
    config = {name: value for name, value in found.items() if value}
    opened = AzureStore(
        container, config=cast(Any, config), client_options=_client(endpoint), retry_config=ALONE
    )
    return RemoteStore(ObjectDriver(opened, f"az://{container}", prefix))


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _client(endpoint: str | None) -> Any:
    plain = (endpoint or "").startswith("http://")
    return {
        "connect_timeout": "5s",
        "read_timeout": "60s",
        "timeout": "300s",
        "allow_http": plain,
    }


class ObjectDriver:
    """One bucket, below a prefix."""

    def __init__(self, bucket: Bucket, name: str, prefix: str) -> None:
        self._bucket: Bucket = bucket
        self._prefix: str = f"{prefix}/" if prefix else ""
        self.name: str = f"{name}/{prefix}" if prefix else name

    def put(self, key: str, file: BinaryIO, metadata: Metadata) -> None:
        with told():
            obstore.put(
                self._bucket,
                self._prefix + key,
                file,
                attributes=cast(Any, _sendable(metadata)),
                chunk_size=PART,
                max_concurrency=2,
            )

    def create(self, key: str, data: bytes) -> bool:
        with told():
            try:
                obstore.put(self._bucket, self._prefix + key, data, mode="create")
            except exceptions.AlreadyExistsError:
                return False
            return True

    def head(self, key: str) -> Stored | None:
        with told():
            try:
                found = obstore.get(self._bucket, self._prefix + key, options={"head": True})
            except FileNotFoundError:
                return None
            return self._stored(found.meta, _metadata(found.attributes))

    def _stored(self, meta: Any, metadata: Metadata | None = None) -> Stored:
        """Lists know no version: the tag and the second it was written stand for it."""
        at = meta["last_modified"]
        generation = f"{(meta['e_tag'] or '').strip(chr(34))}@{int(at.timestamp())}"
        key = meta["path"].removeprefix(self._prefix)
        return Stored(key, meta["size"], at, generation, metadata)

    def read(self, key: str) -> Iterator[bytes]:
        with told():
            found = obstore.get(self._bucket, self._prefix + key)
            for chunk in found.stream(min_chunk_size=CHUNK):
                yield bytes(chunk)

    def delete(self, key: str) -> None:
        with told():
            try:
                obstore.delete(self._bucket, self._prefix + key)
            except FileNotFoundError:
                return

    def copy(self, stored: Stored, to: str, metadata: Metadata) -> None:
        """Through us: a copy made by the server could be one of a newer generation."""
        tag = f'"{stored.generation.rpartition("@")[0]}"'
        with told():
            try:
                found = obstore.get(
                    self._bucket, self._prefix + stored.key, options={"if_match": tag}
                )
            except exceptions.PreconditionError as exc:
                raise FileNotFoundError("there is a newer generation") from exc
            attributes = changed(_attributes(found.attributes), _sendable(metadata))
            with filled(bytes(chunk) for chunk in found.stream(min_chunk_size=CHUNK)) as file:
                obstore.put(
                    self._bucket,
                    self._prefix + to,
                    file,
                    attributes=cast(Any, attributes),
                    chunk_size=PART,
                    max_concurrency=2,
                )

    def remove(self, stored: Stored) -> None:
        """Neither knows a conditional delete by this library: look, then delete at once."""
        now = self.head(stored.key)
        if now is not None and now.generation == stored.generation:
            self.delete(stored.key)

    def pages(self, prefix: str, after: str) -> Iterator[list[Stored]]:
        offset = self._prefix + after if after else None
        with told():
            folder = self._prefix + prefix
            for page in _list(self._bucket, folder, offset=offset, chunk_size=PAGE):
                yield [self._stored(meta) for meta in page]

    def sign(self, key: str, expires: timedelta) -> str | None:
        with told():
            try:
                return obstore.sign(self._bucket, "GET", self._prefix + key, expires)
            except exceptions.NotSupportedError:
                return None

    def close(self) -> None:
        """The library has nothing to close."""


def _sendable(metadata: Metadata) -> dict[str, str]:
    """Metadata travels in headers: short, on one line, in ASCII."""
    return {
        name: "".join(c if c.isprintable() and c.isascii() else "?" for c in value)[:LONGEST_VALUE]
        for name, value in metadata.items()
    }


def _attributes(found: Mapping[Any, str]) -> dict[str, str]:
    return {str(name): value for name, value in found.items()}


def _metadata(found: Mapping[Any, str]) -> dict[str, str]:
    return {name: value for name, value in _attributes(found).items() if name not in SYSTEM}


@contextmanager
def told() -> Generator[None]:
    """The library's exceptions as ours, without the request and its signature in them."""
    try:
        yield
    except exceptions.BaseError as exc:
        raise StoreError(f"{type(exc).__name__}: {str(exc).splitlines()[0][:300]}") from None
