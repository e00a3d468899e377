"""S3 and Azure by requests that we sign ourselves, for the names that obstore can't speak of.

obstore reads names as paths: one with an empty part, `.`, `..` or a control character makes it
refuse a whole page of a listing, and it drops a slash at the end. Here a name is any bytes.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final, Protocol
from urllib.parse import quote, unquote, unquote_to_bytes
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import httpx2

from docmill.storage.contract import CHUNK, PAGE
from docmill.storage.retry import StoreError

TIMEOUT: Final = httpx2.Timeout(60, connect=5)
SYSTEM: Final = frozenset(
    {"Content-Type", "Content-Disposition", "Content-Encoding", "Content-Language", "Cache-Control"}
)
AZURE_VERSION: Final = "2021-08-06"
# Headers that Azure signs by their place in a list.
AZURE_PLACES: Final = (
    "content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range",
)  # fmt: skip
NAMES: Final = re.compile(rb"(<(?:Key|Name)(?: [^>]*)?>)(.*?)(</(?:Key|Name)>)", re.DOTALL)
# Neither paths of obstore nor XML, in which it deletes, hold these.
UNSPEAKABLE: Final = re.compile("[\\x00-\\x1f\\x7f\\ufffe\\uffff]")
# What XML does not carry as it is. A percent sign is what we write it with.
NO_XML: Final = re.compile(rb"[^\x20-\x7e]|%|&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));")


class RefusedError(StoreError):
    """The store answered that it won't."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One object as a listing knows it."""

    name: bytes
    bytes: int
    changed_at: datetime
    tag: str


@dataclass(frozen=True, slots=True)
class OpenedObject:
    """One object with its metadata, and its bytes as far as they were asked for."""

    listed: ListedObject
    attributes: dict[str, str]
    chunks: Iterator[bytes]


class Dialect(Protocol):
    """What differs between the kinds of stores."""

    @property
    def address(self) -> str:
        """Of the bucket, without a slash at its end."""
        ...

    @property
    def meta(self) -> str:
        """How the headers of metadata begin."""
        ...

    def sign(self, request: httpx2.Request) -> None: ...
    def query(self, prefix: bytes, after: bytes, marker: str) -> dict[str, str | bytes]: ...
    def read(self, root: Element) -> tuple[list[ListedObject], str]:
        """The objects of a page, and the marker of the next one."""
        ...


class SignedBucket:
    """One bucket, in the dialect of its store."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect: Dialect = dialect
        self._web: httpx2.Client = httpx2.Client(
            timeout=TIMEOUT, headers={"accept-encoding": "identity"}
        )

    @contextmanager
    def request(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes | None = None
    ) -> Generator[httpx2.Response]:
        """The answer to a signed request. Errors are told without names and signatures."""
        url = self._dialect.address + path
        request = self._web.build_request(method, url, headers=dict(headers), content=data)
        self._dialect.sign(request)
        try:
            answer = self._web.send(request, stream=True)
            try:
                _check(answer)
                yield answer
            finally:
                answer.close()
        except httpx2.TransportError as exc:
            raise StoreError(f"a signed request failed: {type(exc).__name__}") from None

    def pages(self, prefix: bytes, after: bytes) -> Iterator[list[ListedObject]]:
        """In the order of the store; what comes before `after` and itself is left out."""
        marker = ""
        while True:
            pairs = self._dialect.query(prefix, after, marker)
            query = "&".join(f"{name}={quote(pairs[name], safe='')}" for name in sorted(pairs))
            with self.request("GET", f"?{query}", {}) as answer:
                body = answer.read()
            found, marker = self._dialect.read(parse_listing(body))
            if fresh := [one for one in found if one.name > after]:
                yield fresh
            if not marker:
                return

    @contextmanager
    def open(self, name: bytes, tag: str | None) -> Generator[OpenedObject]:
        """This generation of it, or any."""
        match = {"if-match": f'"{tag}"'} if tag else {}
        with self.request("GET", url_path(name), match) as answer:
            yield OpenedObject(
                _read_headers(name, answer), self._attributes(answer), answer.iter_raw(CHUNK)
            )

    def head(self, name: bytes) -> OpenedObject:
        with self.request("HEAD", url_path(name), {}) as answer:
            return OpenedObject(_read_headers(name, answer), self._attributes(answer), iter(()))

    def delete(self, name: bytes) -> None:
        with self.request("DELETE", url_path(name), {}):
            return

    def _attributes(self, answer: httpx2.Response) -> dict[str, str]:
        meta, headers = self._dialect.meta, answer.headers
        system = {name: headers[name] for name in SYSTEM if name in headers}
        own = {name[len(meta) :]: word for name, word in headers.items() if name.startswith(meta)}
        return {**system, **own}

    def close(self) -> None:
        self._web.close()


def is_plain(name: bytes) -> bool:
    """What obstore takes as a path and gives back unchanged."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return False
    return not UNSPEAKABLE.search(text) and not {"", ".", ".."} & set(text.split("/"))


def url_path(name: bytes) -> str:
    """In a URL. A part of dots alone would be resolved on the way if it weren't encoded."""
    parts = name.split(b"/")
    return "".join(
        "/" + ("%2E" * len(part) if part in {b".", b".."} else quote(part, safe=""))
        for part in parts
    )


def _check(answer: httpx2.Response) -> None:
    status = answer.status_code
    if status in {404, 412}:
        raise FileNotFoundError("no such generation in the store")
    if 400 <= status < 500 and status not in {408, 429}:
        raise RefusedError(f"a signed request was answered {status}")
    if status >= 300:
        raise StoreError(f"a signed request was answered {status}")


def _read_headers(name: bytes, answer: httpx2.Response) -> ListedObject:
    headers = answer.headers
    try:
        size = int(headers["content-length"])
        at = parsedate_to_datetime(headers["last-modified"])
    except (KeyError, ValueError) as exc:
        raise StoreError("a signed request was answered without length or time") from exc
    return ListedObject(name, size, at, headers.get("etag", "").strip('"'))


def parse_listing(body: bytes) -> Element:
    """The names in it percent-encoded: they may hold what no XML can."""
    safe = NAMES.sub(lambda found: found[1] + NO_XML.sub(_escape, found[2]) + found[3], body)
    try:
        return ElementTree.fromstring(safe)  # noqa: S314  of the operator's own store
    except ElementTree.ParseError as exc:
        raise StoreError("a listing that is no XML") from exc


def _escape(found: re.Match[bytes]) -> bytes:
    if found[0].startswith(b"&#"):
        code = int(found[1], 16) if found[1] else int(found[2])
        return quote(chr(min(code, 0x10FFFF)), safe="", errors="surrogatepass").encode()
    return b"%%%02X" % found[0][0]


def _child_text(parent: Element, path: str) -> str:
    return parent.findtext(path) or ""


@dataclass(frozen=True, slots=True)
class S3Dialect:
    """S3 with Signature Version 4."""

    address: str
    region: str
    key_id: str
    secret: str
    token: str = ""
    meta: str = "x-amz-meta-"

    def sign(self, request: httpx2.Request) -> None:
        now = datetime.now(UTC)
        headers = request.headers
        headers["x-amz-date"] = f"{now:%Y%m%dT%H%M%SZ}"
        headers["x-amz-content-sha256"] = hashlib.sha256(request.read()).hexdigest()
        if self.token:
            headers["x-amz-security-token"] = self.token
        signed = sorted(name for name in headers if name == "host" or name.startswith("x-amz-"))
        path, _, query = request.url.raw_path.decode().partition("?")
        lines = [f"{name}:{headers[name].strip()}" for name in signed]
        asked = [request.method, path.replace("%2E", "."), query, *lines, "", ";".join(signed)]
        text = "\n".join([*asked, headers["x-amz-content-sha256"]])
        scope = f"{now:%Y%m%d}/{self.region}/s3/aws4_request"
        digest = hashlib.sha256(text.encode()).hexdigest()
        whole = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"
        key = f"AWS4{self.secret}".encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), hashlib.sha256)
        signature = hmac.digest(key, whole.encode(), hashlib.sha256).hex()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.key_id}/{scope},"
            f" SignedHeaders={';'.join(signed)}, Signature={signature}"
        )

    def query(self, prefix: bytes, after: bytes, marker: str) -> dict[str, str | bytes]:
        pairs: dict[str, str | bytes] = {
            "list-type": "2", "encoding-type": "url", "max-keys": str(PAGE), "prefix": prefix,
        }  # fmt: skip
        if marker:
            pairs["continuation-token"] = marker
        elif after:
            pairs["start-after"] = after
        return pairs

    def read(self, root: Element) -> tuple[list[ListedObject], str]:
        coded = _child_text(root, "{*}EncodingType") == "url"
        found = [_read_s3_entry(one, coded=coded) for one in root.iterfind("{*}Contents")]
        return found, _child_text(root, "{*}NextContinuationToken")


def _read_s3_entry(one: Element, *, coded: bool) -> ListedObject:
    name = unquote_to_bytes(_child_text(one, "{*}Key"))
    if coded:
        name = unquote_to_bytes(name.replace(b"+", b" "))
    at = datetime.fromisoformat(_child_text(one, "{*}LastModified"))
    return ListedObject(
        name, int(_child_text(one, "{*}Size")), at, _child_text(one, "{*}ETag").strip('"')
    )


@dataclass(frozen=True, slots=True)
class AzureDialect:
    """Azure Blob with Shared Key."""

    address: str
    account: str
    key: str
    meta: str = "x-ms-meta-"

    def sign(self, request: httpx2.Request) -> None:
        headers = request.headers
        headers["x-ms-date"] = format_datetime(datetime.now(UTC), usegmt=True)
        headers["x-ms-version"] = AZURE_VERSION
        path, _, query = request.url.raw_path.decode().partition("?")
        places = [headers.get(name, "") for name in AZURE_PLACES]
        places[AZURE_PLACES.index("content-length")] = headers.get("content-length", "").lstrip("0")
        own = sorted(name for name in headers if name.startswith("x-ms-"))
        lines = [f"{name}:{headers[name].strip()}" for name in own]
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        words = [f"{unquote(name).lower()}:{unquote(word)}" for name, _, word in sorted(pairs)]
        text = "\n".join([request.method, *places, *lines, f"/{self.account}{path}", *words])
        digest = hmac.digest(base64.b64decode(self.key), text.encode(), hashlib.sha256)
        headers["authorization"] = f"SharedKey {self.account}:{base64.b64encode(digest).decode()}"

    def query(self, prefix: bytes, after: bytes, marker: str) -> dict[str, str | bytes]:
        """It can't begin after a name: what is known is read over again."""
        pairs: dict[str, str | bytes] = {
            "restype": "container", "comp": "list", "maxresults": str(PAGE), "prefix": prefix,
        }  # fmt: skip
        return {**pairs, "marker": marker} if marker else pairs

    def read(self, root: Element) -> tuple[list[ListedObject], str]:
        return [_read_azure_entry(one) for one in root.iterfind("Blobs/Blob")], _child_text(
            root, "NextMarker"
        )


def _read_azure_entry(one: Element) -> ListedObject:
    name = unquote_to_bytes(_child_text(one, "Name"))
    if one.find("Name[@Encoded='true']") is not None:
        name = unquote_to_bytes(name)
    at = parsedate_to_datetime(_child_text(one, "Properties/Last-Modified"))
    tag = _child_text(one, "Properties/Etag").strip('"')
    return ListedObject(name, int(_child_text(one, "Properties/Content-Length")), at, tag)
