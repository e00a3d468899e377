from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.reading import dates

DAYS = st.dates(date(1990, 1, 1), date(2089, 12, 31))
INDONESIAN = (
    "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember"
)
GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
SPANISH = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-14",
        "2025/03/14",
        "14/03/2025",
        "14.03.2025",
        "14-03-2025",
        "14.03.25",
        "14 Mar 2025",
        "14-MAR-2025",
        "14 Maret 2025",
        "14. März 2025",
        "14 mars 2025",
        "14 de marzo de 2025",
        "March 14, 2025",
        "Mar 14, 2025",
        "14th of March, 2025",
        "20250314",
        "2025 Mar 14",
    ],
)
def test_a_date_is_read_in_any_of_these_formats(text: str) -> None:
    assert dates.read_date(text) == date(2025, 3, 14)


def test_the_first_of_a_month_in_french() -> None:
    assert dates.read_date("1er janvier 2024") == date(2024, 1, 1)


def test_a_slashed_date_can_be_read_either_way() -> None:
    (found,) = dates.find_dates("05/03/2025")
    (turned,) = dates.find_dates("05/03/2025", month_first=True)

    assert (found.day, found.other) == (date(2025, 3, 5), date(2025, 5, 3))
    assert turned.day == date(2025, 5, 3)
    assert dates.find_dates("05.03.2025", month_first=True)[0].day == date(2025, 3, 5)


def test_one_date_tells_how_the_others_are_written() -> None:
    assert dates.has_month_first(["03/20/2023", "04/05/2023"]) is True
    assert dates.has_month_first(["20/03/2023"]) is False
    assert dates.has_month_first(["04/05/2023", "31.12.2023"]) is None


@pytest.mark.parametrize(
    "text", ["31.02.2025", "192.168.1.12", "May 2025", "13/13/2025", "1.250,00"]
)
def test_what_is_no_date_is_not_read(text: str) -> None:
    assert dates.find_dates(text) == []


def test_dates_are_found_where_they_stand() -> None:
    text = "Jakarta, 14 Agustus 2024 / 01.05.14-31.05.14"

    found = dates.find_dates(text)

    assert [text[item.start : item.end] for item in found] == [
        "14 Agustus 2024",
        "01.05.14",
        "31.05.14",
    ]


@given(DAYS, st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d %B %Y", "%d-%b-%Y"]))
def test_what_is_written_comes_back(day: date, shape: str) -> None:
    assert dates.read_date(day.strftime(shape)) == day


@given(DAYS, st.sampled_from([INDONESIAN, GERMAN, FRENCH, SPANISH]))
def test_months_are_known_in_each_language(day: date, names: str) -> None:
    assert dates.read_date(f"{day.day} {names.split()[day.month - 1]} {day.year}") == day


@given(st.text(max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    for found in dates.find_dates(text, packed=True):
        assert 0 <= found.start < found.end <= len(text)
