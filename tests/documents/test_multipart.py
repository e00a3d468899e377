"""What the header of a form says, however it is written."""

import pytest

from docmill.core.faults import DocmillError
from docmill.documents.multipart import BodyLimits, read_boundary

LIMITS = BodyLimits(file_bytes=10, files=1, fields=1)


@pytest.mark.parametrize(
    ("header", "boundary"),
    [
        (
            "multipart/form-data; boundary=----WebKitFormBoundary0aZ_9",
            "----WebKitFormBoundary0aZ_9",
        ),
        ("multipart/form-data;boundary=0123", "0123"),
        ('multipart/form-data; boundary="a b"', "a b"),
        ("Multipart/Form-Data; charset=utf-8; boundary=x", "x"),
        ("multipart/form-data; boundary=x; charset=utf-8", "x"),
        ("multipart/form-data; boundary=a.b+c", "a.b+c"),
    ],
)
def test_the_boundary_is_found_as_headers_say_it(header: str, boundary: str) -> None:
    assert read_boundary({"content-type": header}, LIMITS) == boundary


@pytest.mark.parametrize(
    "header",
    [
        "",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=x",
        "multipart/form-data; boundary=" + "x" * 201,
    ],
)
def test_no_form_with_a_boundary_is_refused(header: str) -> None:
    with pytest.raises(DocmillError) as caught:
        read_boundary({"content-type": header}, LIMITS)
    assert caught.value.fault.code == "NO_FILE"
