"""The table of faults is the specification's."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from docmill.core.faults import FAULTS, DocmillError, Fault

SPEC: Final = Path(__file__).parents[2].parent / "shared" / "SPEC.md"
LINE: Final = re.compile(r"\| ([A-Z0-9_]+) \| (.+?) \| (yes|no|-) \|")

SPECIFIED: Final = {
    "NOT_PDF": ("Only PDF files are supported", "no"),
    "UNSUPPORTED_TYPE": ("This file type isn't supported here", "no"),
    "TOO_LARGE": ("File exceeds 50 MB limit", "no"),
    "BAD_PDF": ("This PDF is damaged, locked or empty", "no"),
    "GW_4XX": ("Couldn't convert with this mapping", "no"),
    "GW_5XX": ("Converter is having an issue. We'll retry", "yes"),
    "GW_TIMEOUT": ("Conversion is taking too long. We'll retry", "yes"),
    "IO_ERROR": ("Temporary storage issue. We'll retry", "yes"),
    "EXPIRED": ("File was removed by retention. Re-upload to regenerate", "-"),
    "NOT_READY": ("Conversion not finished yet", "-"),
    "FORBIDDEN": ("This file isn't yours", "-"),
    "RATE_LIMITED": ("Too many uploads. Try again in a moment", "-"),
    "UNKNOWN": ("Something went wrong", "yes"),
}


def specified() -> Iterator[tuple[str, tuple[str, str]]]:
    for line in SPEC.read_text("utf-8").splitlines():
        if found := LINE.fullmatch(line.strip()):
            yield found[1], (found[2], found[3])


@pytest.mark.skipif(not SPEC.exists(), reason="the specification is not beside this checkout")
def test_the_copy_below_is_the_specification() -> None:
    assert dict(specified()) == SPECIFIED


@pytest.mark.parametrize("code", SPECIFIED)
def test_a_fault_says_and_does_what_is_specified(code: str) -> None:
    says, retried = SPECIFIED[code]
    assert FAULTS[code].says == says
    assert FAULTS[code].retried == (retried == "yes")


def test_codes_are_unique() -> None:
    assert all(code == fault.code for code, fault in FAULTS.items())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.code)
def test_every_fault_has_a_status_one_line_and_advice(fault: Fault) -> None:
    known = fault
    assert re.fullmatch(r"[A-Z0-9_]+", known.code)
    assert 400 <= known.status <= 599
    for sentence in (known.says, known.advice, known.error):
        assert sentence
        assert "\n" not in sentence
        assert "/" not in known.says


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.code)
def test_the_last_word_about_a_job_promises_no_retry(fault: Fault) -> None:
    assert fault.final
    assert "retry" not in fault.final.lower()
    assert fault.says.startswith(fault.final)


def test_what_the_contract_fixes_for_programs() -> None:
    assert FAULTS["TOO_LARGE"].error == "File size exceeds 50MB limit"
    assert FAULTS["JOB_NOT_FOUND"].error == "Job not found"
    assert FAULTS["NOT_PDF"].error == FAULTS["NOT_PDF"].says


@pytest.mark.parametrize(
    ("most", "says"),
    [
        (52_428_800, "File exceeds 50 MB limit"),
        (10 << 20, "File exceeds 10 MB limit"),
        (12_345_678, "File exceeds 11.8 MB limit"),
        (999, "File exceeds 999 byte limit"),
    ],
)
def test_too_large_names_the_limit_that_holds(most: int, says: str) -> None:
    exc = DocmillError("TOO_LARGE", "as a whole", maxSize=most)
    assert (exc.fault.code, exc.fault.says, exc.facts) == ("TOO_LARGE", says, {"maxSize": most})
    assert exc.fault.error == says.replace("File", "File size").replace(" MB", "MB")


def test_an_exception_carries_its_fault_and_keeps_its_detail_apart() -> None:
    exc = DocmillError("TOO_LARGE", "by one byte", maxSize=5)
    assert (exc.fault.code, exc.detail, exc.facts) == ("TOO_LARGE", "by one byte", {"maxSize": 5})
    with pytest.raises(KeyError):
        DocmillError("NO_SUCH_CODE")
