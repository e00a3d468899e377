"""Google Cloud Storage, whose generations and preconditions make every move exact."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from io import SEEK_END
from typing import Any, BinaryIO, Final, cast

import google.auth.credentials
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse

from docmill.core.faults import CommandError
from docmill.storage.contract import CHUNK, PAGE, Metadata, ObjectInfo, SignedPut, merge_metadata
from docmill.storage.names import key_of, name_of
from docmill.storage.remote import RemoteStore
from docmill.storage.retry import StoreError

PART: Final = 8 << 20
TIMEOUT: Final = (5, 60)
TROUBLES: Final[tuple[type[Exception], ...]] = (
    exceptions.GoogleAPIError,
    GoogleAuthError,
    DataCorruption,
    InvalidResponse,
)
# Tries are counted in one place, which is ours.
ALONE: Final[dict[str, Any]] = {"retry": None, "timeout": TIMEOUT}


def open_gcs(bucket: str, prefix: str, options: Mapping[str, str]) -> RemoteStore:
    """Credentials are found as Google's tools find them; `endpoint` is for an emulator."""
    given: dict[str, Any] = {}
    endpoint = options.get("endpoint")
    if endpoint:
        given["client_options"] = {"api_endpoint": endpoint}
    if options.get("anonymous"):
        given |= {"credentials": AnonymousCredentials(), "project": "docmill"}
    try:
        client: Any = storage.Client(**given)
    except GoogleAuthError as exc:
        raise CommandError(
            f"There are no credentials for gs://{bucket}.\n"
            "Set GOOGLE_APPLICATION_CREDENTIALS, or run where the machine has an account."
        ) from exc
    return RemoteStore(GcsDriver(client, bucket, prefix, endpoint))


class GcsDriver:
    """One bucket, below a prefix."""

    def __init__(self, client: Any, bucket: str, prefix: str, endpoint: str | None) -> None:
        self._client: Any = client
        self._bucket: Any = client.bucket(bucket)
        self._prefix: str = f"{prefix}/" if prefix else ""
        self._endpoint: str | None = endpoint
        self.name: str = f"gs://{bucket}/{prefix}" if prefix else f"gs://{bucket}"

    def _blob(self, key: str) -> Any:
        return self._bucket.blob(self._name(key))

    def _name(self, key: str) -> str:
        return self._prefix + name_of(key).decode()

    def put(self, key: str, file: BinaryIO, metadata: Metadata) -> None:
        with translate_errors():
            blob = self._blob(key)
            size = file.seek(0, SEEK_END)
            blob.chunk_size = PART if size > PART else None
            blob.metadata = dict(metadata)
            blob.upload_from_file(file, rewind=True, size=size, **ALONE)

    def create(self, key: str, data: bytes) -> bool:
        with translate_errors():
            try:
                self._blob(key).upload_from_string(data, if_generation_match=0, **ALONE)
            except exceptions.PreconditionFailed:
                return False
            return True

    def head(self, key: str) -> ObjectInfo | None:
        with translate_errors():
            found = self._bucket.get_blob(self._name(key), **ALONE)
            return found and self._describe(found)

    def _describe(self, found: Any) -> ObjectInfo:
        key = key_of(found.name.removeprefix(self._prefix).encode())
        metadata = dict(found.metadata or {})
        return ObjectInfo(key, found.size, found.updated, str(found.generation), metadata)

    def read(self, key: str) -> Iterator[bytes]:
        with translate_errors(), self._blob(key).open("rb", chunk_size=CHUNK, **ALONE) as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def delete(self, key: str) -> None:
        with translate_errors():
            try:
                self._blob(key).delete(**ALONE)
            except exceptions.NotFound:
                return

    def copy(self, stored: ObjectInfo, to: str, metadata: Metadata) -> None:
        """By the server, of this generation, to where nothing is yet."""
        generation = int(stored.generation)
        with translate_errors():
            source = self._blob(stored.key)
            source.reload(if_generation_match=generation, **ALONE)
            target = self._blob(to)
            target.metadata = merge_metadata(source.metadata or {}, metadata)
            target.content_type = source.content_type
            token = None
            while True:
                token, _, _ = target.rewrite(
                    source,
                    token=token,
                    if_generation_match=0,
                    if_source_generation_match=generation,
                    **ALONE,
                )
                if token is None:
                    return

    def remove(self, stored: ObjectInfo) -> None:
        generation = int(stored.generation)
        with translate_errors():
            try:
                self._blob(stored.key).delete(if_generation_match=generation, **ALONE)
            except (exceptions.NotFound, exceptions.PreconditionFailed):
                return

    def pages(self, prefix: str, after: str) -> Iterator[list[ObjectInfo]]:
        start = f"{self._name(after)}\0" if after else None
        with translate_errors():
            listing = self._client.list_blobs(
                self._bucket,
                prefix=f"{self._prefix}{prefix}/" if prefix else self._prefix,
                start_offset=start,
                page_size=PAGE,
                **ALONE,
            )
            for page in listing.pages:
                if found := [self._describe(blob) for blob in page]:
                    yield found

    def sign(self, key: str, expires: timedelta) -> str | None:
        return self._sign(key, expires, "GET", {})

    def sign_put(self, key: str, size: int, expires: timedelta) -> SignedPut | None:
        """The store itself refuses another size."""
        headers = {"x-goog-content-length-range": f"{size},{size}"}
        url = self._sign(key, expires, "PUT", headers)
        return url and SignedPut(url, headers)

    def _sign(
        self, key: str, expires: timedelta, method: str, headers: Mapping[str, str]
    ) -> Any | None:
        """Only with a key of our own; credentials of the machine itself cannot sign."""
        # The client keeps what it found, and has no public name for it.
        signer = self._client._credentials  # noqa: SLF001
        if not isinstance(signer, google.auth.credentials.Signing):
            return None
        with translate_errors():
            return self._blob(key).generate_signed_url(
                version="v4",
                expiration=expires,
                method=method,
                headers=dict(headers),
                api_access_endpoint=self._endpoint or "https://storage.googleapis.com",
            )

    def close(self) -> None:
        self._client.close()


@contextmanager
def translate_errors() -> Generator[None]:
    """The library's exceptions as ours; a generation that is gone is not found.

    Without their text, which holds the names of objects: those are our customers' own.
    """
    try:
        yield
    except (exceptions.NotFound, exceptions.PreconditionFailed) as exc:
        raise FileNotFoundError("no such generation in the store") from exc
    except TROUBLES as exc:
        kind = type(cast(Exception, exc)).__name__
        raise StoreError(f"{kind} {getattr(exc, 'code', None) or ''}".strip()) from None
