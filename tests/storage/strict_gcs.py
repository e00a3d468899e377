"""A small Google Cloud Storage that keeps its word: generations, preconditions, signed addresses.

The emulator the other tests use ignores preconditions. This one can also be told to fail.
"""

import base64
import json
import re
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import google_crc32c
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

OBJECT = re.compile(r"(?:/download|/upload)?/storage/v1/b/(?P<bucket>[^/]+)/o(?:/(?P<name>[^/]+))?")
REWRITE = re.compile(r"/storage/v1/b/[^/]+/o/(?P<name>[^/]+)/rewriteTo/b/[^/]+/o/(?P<to>[^/]+)")


class Refused(Exception):  # noqa: N818
    """An answer that is not 200."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status: int = status


@dataclass
class Cloud:
    """What the server knows, and what it was told to do wrong."""

    key: rsa.RSAPrivateKey
    objects: dict[str, tuple[dict[str, Any], bytes]] = field(
        default_factory=dict[str, tuple[dict[str, Any], bytes]]
    )
    uploads: dict[str, tuple[dict[str, Any], str, bytearray]] = field(
        default_factory=dict[str, tuple[dict[str, Any], str, bytearray]]
    )
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failures: int = 0
    url: str = ""
    last: int = 0

    def check(self, name: str, wanted: str | None) -> None:
        """Refuses unless the object is of the wanted generation; 0 wants none."""
        now = self.objects[name][0]["generation"] if name in self.objects else "0"
        if wanted is not None and wanted != now:
            raise Refused(412)

    def write(self, told: Mapping[str, Any], data: bytes, wanted: str | None) -> dict[str, Any]:
        name = told["name"]
        self.check(name, wanted)
        self.last = max(self.last + 1, time.time_ns() // 1000)
        resource: dict[str, Any] = {
            "name": name,
            "size": str(len(data)),
            "generation": str(self.last),
            "updated": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "metadata": told.get("metadata") or {},
            "crc32c": base64.b64encode(google_crc32c.Checksum(data).digest()).decode(),
            "contentType": told.get("contentType") or "application/octet-stream",
        }
        self.objects[name] = (resource, data)
        return resource

    def find(self, name: str, query: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
        if name not in self.objects:
            raise Refused(404)
        self.check(name, query.get("ifGenerationMatch"))
        resource, data = self.objects[name]
        if query.get("generation", resource["generation"]) != resource["generation"]:
            raise Refused(404)
        return resource, data

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        start = query.get("pageToken") or query.get("startOffset", "")
        names = [
            name
            for name in sorted(self.objects)
            if name.startswith(query.get("prefix", "")) and name >= start
        ]
        most = int(query.get("maxResults", "1000"))
        answer: dict[str, Any] = {"items": [self.objects[name][0] for name in names[:most]]}
        if names[most:]:
            answer["nextPageToken"] = names[most]
        return answer

    def open_signed(
        self, method: str, path: str, query: dict[str, str], headers: Mapping[str, str], body: bytes
    ) -> bytes:
        """Checks the date and the signature as the real one does, and the size of what is put."""
        signature = bytes.fromhex(query.pop("X-Goog-Signature", ""))
        at = datetime.strptime(query["X-Goog-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if (datetime.now(UTC) - at).total_seconds() > int(query["X-Goog-Expires"]):
            raise Refused(400)
        asked = "&".join(f"{quote(k, '')}={quote(v, '')}" for k, v in sorted(query.items()))
        names = query["X-Goog-SignedHeaders"].split(";")
        lines = "".join(f"{name}:{headers.get(name, '')}\n" for name in names)
        request = f"{method}\n{path}\n{asked}\n{lines}\n{';'.join(names)}\nUNSIGNED-PAYLOAD"
        digest = hashes.Hash(hashes.SHA256())
        digest.update(request.encode())
        scope = query["X-Goog-Credential"].partition("/")[2]
        signed = f"GOOG4-RSA-SHA256\n{query['X-Goog-Date']}\n{scope}\n{digest.finalize().hex()}"
        try:
            self.key.public_key().verify(
                signature, signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            raise Refused(403) from None
        name = unquote(path.split("/", 2)[2])
        if method == "GET":
            return self.find(name, {})[1]
        least, most = headers["x-goog-content-length-range"].split(",")
        if not int(least) <= len(body) <= int(most):
            raise Refused(400)
        self.write({"name": name}, body, None)
        return b""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    cloud: Cloud

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if re.fullmatch(r"/storage/v1/b/[^/]+", parts.path):  # the library asks on its own account
            self._say({"projectNumber": "1", "location": "EU"})
            return
        self.cloud.asked.append((self.command, parts.path))
        try:
            if self.cloud.failures:
                self.cloud.failures -= 1
                raise Refused(503)
            self._answer_to(parts.path, dict(parse_qsl(parts.query)), body)
        except Refused as exc:
            self._say({"error": {"code": exc.status, "message": "refused"}}, exc.status)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815

    def _answer_to(self, path: str, query: dict[str, str], body: bytes) -> None:
        if path == "/token":
            self._say({"access_token": "t", "token_type": "Bearer", "expires_in": 3600})
        elif "X-Goog-Signature" in query:
            headers = {name.lower(): word for name, word in self.headers.items()}
            self._send(self.cloud.open_signed(self.command, path, query, headers, body))
        elif path.startswith("/session/"):
            self._resume(path, body)
        elif found := REWRITE.fullmatch(path):
            self._rewrite(unquote(found["name"]), unquote(found["to"]), query, body)
        elif (found := OBJECT.fullmatch(path)) and self.command == "POST":
            self._upload(query, body)
        elif found:
            self._object(unquote(found["name"] or ""), query)
        else:
            raise Refused(404)

    def _object(self, name: str, query: dict[str, str]) -> None:
        if not name:
            self._say(self.cloud.page(query))
            return
        resource, data = self.cloud.find(name, query)
        if self.command == "DELETE":
            del self.cloud.objects[name]
            self._send(b"", 204)
        elif query.get("alt") == "media":
            self._media(data)
        else:
            self._say(resource)

    def _media(self, data: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if wanted is None:
            self._send(data)
            return
        start, end = int(wanted[1]), int(wanted[2] or len(data) - 1)
        if start >= len(data):
            raise Refused(416)
        piece = data[start : end + 1]
        span = f"bytes {start}-{start + len(piece) - 1}/{len(data)}"
        self._send(piece, 206, {"content-range": span})

    def _upload(self, query: dict[str, str], body: bytes) -> None:
        wanted = query.get("ifGenerationMatch", "")
        if query["uploadType"] == "resumable":
            session = f"/session/{len(self.cloud.uploads)}"
            self.cloud.uploads[session] = (json.loads(body), wanted, bytearray())
            self._send(b"", headers={"location": self.cloud.url + session})
            return
        header = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        parts: Any = BytesParser().parsebytes(header + body).get_payload()
        data = body.split(b"\r\n\r\n", 2)[2].rpartition(b"\r\n--")[0]
        told = json.loads(parts[0].get_payload(decode=True))
        self._say(self.cloud.write(told, data, wanted or None))

    def _resume(self, path: str, body: bytes) -> None:
        told, wanted, data = self.cloud.uploads[path]
        data += body
        if self.headers["content-range"].endswith(f"/{len(data)}"):
            self._say(self.cloud.write(told, bytes(data), wanted or None))
        else:
            self._send(b"", 308, {"range": f"bytes=0-{len(data) - 1}"})

    def _rewrite(self, name: str, to: str, query: dict[str, str], body: bytes) -> None:
        given = {"ifGenerationMatch": query.get("ifSourceGenerationMatch", "")}
        found, data = self.cloud.find(name, {k: v for k, v in given.items() if v})
        told: dict[str, Any] = {**found, **(json.loads(body) if body else {}), "name": to}
        resource = self.cloud.write(told, data, query.get("ifGenerationMatch"))
        size = str(len(data))
        self._say(
            {"done": True, "resource": resource, "objectSize": size, "totalBytesRewritten": size}
        )

    def _say(self, answer: Any, status: int = 200) -> None:
        self._send(json.dumps(answer).encode(), status, {"content-type": "application/json"})

    def _send(
        self, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def strict_gcs(folder: Path) -> Generator[tuple[Cloud, Path]]:
    """The server, and a file of credentials that can sign."""
    cloud = Cloud(rsa.generate_private_key(65537, 2048))
    handler = type("OneHandler", (Handler,), {"cloud": cloud})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    cloud.url = f"http://127.0.0.1:{server.server_port}"
    pem = cloud.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    credentials = folder / "credentials.json"
    told = {
        "type": "service_account",
        "project_id": "docmill",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "docmill@example.com",
        "client_id": "1",
        "token_uri": f"{cloud.url}/token",
    }
    credentials.write_text(json.dumps(told))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield cloud, credentials
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
