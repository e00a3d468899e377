"""Requests signed by us, held against what others sign, and listings as stores may write them."""

from datetime import datetime
from typing import Any, cast
from urllib.parse import quote

import httpx2
import pytest
from botocore import auth as botocore_auth
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage import signed
from docmill.storage.signed import AzureDialect, S3Dialect, is_plain, url_path

NAMES = ["a b+c~d.pdf", "x//y", "a/../b", "./é%2E", "\x01\r\n?#&=", "t/"]
LIST = "?encoding-type=url&list-type=2&max-keys=5&prefix=a%20b%2F%2B~"


@pytest.mark.parametrize("path", [*(url_path(name.encode()) for name in NAMES), LIST])
@pytest.mark.parametrize("token", ["", "a token"])
def test_s3_requests_are_signed_as_botocore_signs_them(
    path: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:9/bucket"
    request = httpx2.Request("GET", address + path, headers={"if-match": '"x"'})
    S3Dialect(address, "eu-west-1", "id", "secret", token).sign(request)
    # It signs names with dots as they are, though they travel encoded.
    other = AWSRequest("GET", address + path.replace("%2E", "."), data=b"")
    at = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")  # noqa: DTZ007

    def now(*_: object, **__: object) -> datetime:
        return at

    monkeypatch.setattr(botocore_auth, "get_current_datetime", now)
    credentials = Credentials("id", "secret", token or None)
    signer: Any = S3SigV4Auth(credentials, "s3", "eu-west-1")
    signer.add_auth(other)
    theirs: str = cast(Any, other).headers["Authorization"]
    assert request.headers["authorization"] == theirs


@given(st.binary(max_size=30))
def test_a_name_comes_back_from_a_listing_of_either_kind(name: bytes) -> None:
    text = quote(name, safe="").replace("%20", "+")
    page = (
        f"<R><EncodingType>url</EncodingType><Contents><Key>{text}</Key><Size>3</Size>"
        "<ETag>&quot;t&quot;</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
        "</Contents><NextContinuationToken>n</NextContinuationToken></R>"
    )
    ((found,), marker) = S3Dialect("", "", "", "").read(signed.parse_listing(page.encode()))
    assert (found.name, found.bytes, found.tag, marker) == (name, 3, "t", "n")
    raw = name.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    for written, coded in ((raw, b""), (text.replace("+", "%20").encode(), b' Encoded="true"')):
        blob = (
            b"<R><Blobs><Blob><Name%s>%s</Name><Properties><Content-Length>3</Content-Length>"
            b"<Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified><Etag>t</Etag>"
            b"</Properties></Blob></Blobs><NextMarker/></R>"
        )
        ((one,), end) = AzureDialect("", "", "").read(signed.parse_listing(blob % (coded, written)))
        assert (one, end) == (found, "")


def test_a_character_written_as_a_number_in_a_listing_is_that_character() -> None:
    key, at = "<Key>a&#13;&#x1;&#xE9;%41</Key>", "<LastModified>2026-01-02T03:04:05Z</LastModified>"
    page = f"<R><Contents>{key}<Size>0</Size>{at}</Contents></R>"
    root = signed.parse_listing(page.encode())
    assert S3Dialect("", "", "", "").read(root)[0][0].name == "a\r\x01é%41".encode()


@pytest.mark.parametrize("name", ["a//b", "a/.", "../a", "a/", "/a", "", "\x7f", "a\nb", "\uffff"])
def test_names_that_obstore_changes_or_refuses_are_not_plain(name: str) -> None:
    assert not is_plain(name.encode())
    assert is_plain(b"a/..b/c. .pdf")
