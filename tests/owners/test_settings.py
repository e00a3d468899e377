"""An owner's settings: changed in part, checked whole, and gone by."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from io import BytesIO
from typing import Any

import httpx2
import pytest

from docmill.core.installed import PipelineCatalog
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices import formats
from docmill.invoices.doubts import find_doubts
from docmill.invoices.pipeline import pipeline
from docmill.invoices.profile import complete_profile, find_rate, parse_profile
from docmill.jobs.preferences import read_run_options
from docmill.jobs.samples import SAMPLES
from docmill.owners.api import OwnerSettings, SettingsChange
from docmill.owners.fields import BY_NAME
from docmill.owners.settings import merge_changes
from road import claim_one
from sites import Site, Start, a_pdf, part

pytestmark = pytest.mark.anyio

OFFER = PipelineCatalog(
    {"extract": (PDF,), "invoice": (PDF,)}, {"invoice": ("pt_simon_invoice_v1", "ubl_invoice_v1")}
)
ME = {"name": "PT Simon", "tin": "01.234.567.8-901.000", "review_threshold": 0.9}


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(offer=OFFER) as running_site:
        yield running_site


@pytest.fixture
async def client(site: Site) -> AsyncGenerator[httpx2.AsyncClient]:
    async with site.client() as mine:
        yield mine


async def change(client: httpx2.AsyncClient, **changes: Any) -> dict[str, Any]:
    answer = await client.patch("/api/settings", json=changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_api_and_table_name_the_same_settings() -> None:
    assert [*OwnerSettings.model_fields] == [*SettingsChange.model_fields] == [*BY_NAME]


async def test_settings_are_empty_until_something_is_set_and_then_kept(
    client: httpx2.AsyncClient, site: Site
) -> None:
    before = (await client.get("/api/settings")).json()
    assert before["tin"] == before["pipeline"] == ""
    assert before["review_threshold"] is None
    assert await change(client, **ME) == before | ME
    assert (await client.get("/api/settings")).json() == before | ME
    async with site.client() as another:
        assert (await another.get("/api/settings")).json() == before


async def test_what_is_not_named_stays_and_null_takes_away(client: httpx2.AsyncClient) -> None:
    await change(client, **ME, rates={"USD": "16250", "EUR": 17600})
    await change(client, daily_rates={"usd": {"2025-03-14": "16300", "2025-03-15": "16310"}})
    now = await change(client, rates={"EUR": None}, tin=None)
    assert (now["name"], now["tin"], now["rates"]) == ("PT Simon", "", {"USD": "16250"})
    now = await change(client, daily_rates={"USD": {"2025-03-14": None}}, review_threshold=None)
    assert now["daily_rates"] == {"USD": {"2025-03-15": "16310"}}
    assert now["review_threshold"] is None


async def test_the_profile_is_the_same_thing_by_its_older_name(client: httpx2.AsyncClient) -> None:
    await change(client, **ME)
    assert (await client.get("/api/profile")).json()["tin"] == ME["tin"]
    await client.put("/api/profile", json={"tin": "0012345678901000"})
    now = (await client.get("/api/settings")).json()
    assert (now["tin"], now["name"], now["review_threshold"]) == ("0012345678901000", "", 0.9)


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"tin": "123"}, "body.tin"),
        ({"pipeline": "nonsense"}, "body.pipeline"),
        ({"mapping": "nonsense"}, "body.mapping"),
        ({"review_threshold": 1.1}, "body.review_threshold"),
        ({"rates": {"USD": "much"}}, "body.rates.USD"),
        ({"daily_rates": {"USD": {"14.3.2025": "1"}}}, "body.daily_rates.USD"),
        ({"daily_rates": {"USD": {"2025-02-30": "1"}}}, "body.daily_rates.USD"),
        ({"daily_rates": {"USD": {"2025-03-14": "0"}}}, "body.daily_rates.USD.2025-03-14"),
        ({"daily_rates": {"DOLLAR": {"2025-03-14": "1"}}}, "body.daily_rates"),
        ({"colour": "red"}, "body.colour"),
    ],
)
async def test_what_can_not_be_meant_is_refused_and_nothing_is_kept(
    client: httpx2.AsyncClient, changes: dict[str, Any], at: str
) -> None:
    before = await change(client, **ME)
    answer = await client.patch("/api/settings", json={"country": "ID", **changes})
    assert answer.status_code == 400
    assert [one["at"] for one in answer.json()["mistakes"]] == [at]
    assert (await client.get("/api/settings")).json() == before


async def test_a_page_of_another_site_can_not_change_settings(client: httpx2.AsyncClient) -> None:
    headers = {"origin": "https://evil.example"}
    for method, address in (("PATCH", "/api/settings"), ("POST", "/settings")):
        answer = await client.request(method, address, content=b"{}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "CROSS_SITE")


async def send(client: httpx2.AsyncClient, name: str, **form: str) -> dict[str, Any]:
    files = [part(a_pdf(name))]
    return (await client.post("/api/upload", data=form, files=files)).json()["job"]


async def test_uploads_go_by_the_owners_defaults_unless_they_say_otherwise(
    client: httpx2.AsyncClient,
) -> None:
    assert (await send(client, "one"))["pipeline"] == "extract"
    await change(client, pipeline="invoice", mapping="ubl_invoice_v1")
    plain, asked = await send(client, "two"), await send(client, "three", pipeline="extract")
    assert (plain["pipeline"], plain["mapping"]) == ("invoice", "ubl_invoice_v1")
    assert (asked["pipeline"], asked["mapping"]) == ("extract", None)
    named = await send(client, "four", mapping="pt_simon_invoice_v1")
    assert named["mapping"] == "pt_simon_invoice_v1"
    files = [part(a_pdf("five"))]
    document = (await client.post("/documents", files=files)).json()["job"]
    assert document["pipeline"] == "extract", "that door has a default of its own"


DAYS = {"USD": {"2025-03-12": "16300", "2025-03-19": "16400"}}


@pytest.mark.parametrize(
    ("on", "rupiah", "day", "age"),
    [
        ("2025-03-12", 16300, "2025-03-12", 0),
        ("2025-03-18", 16300, "2025-03-12", 6),
        ("2025-03-19", 16400, "2025-03-19", 0),
        ("2025-04-30", 16400, "2025-03-19", 42),
        ("2025-03-01", 16000, "", 0),
        ("", 16000, "", 0),
    ],
)
def test_the_rate_is_that_of_the_day_or_of_the_newest_before_it(
    on: str, rupiah: int, day: str, age: int
) -> None:
    profile = parse_profile({"rates": {"USD": "16000"}, "daily_rates": DAYS})
    found = find_rate(profile, "USD", on)
    assert found is not None
    assert (found.rupiah, found.day, found.age) == (rupiah, day, age)
    assert find_rate(profile, "EUR", on) is None


def test_without_a_rate_of_every_day_the_nearest_day_counts() -> None:
    profile = parse_profile({"daily_rates": DAYS})
    early, undated = find_rate(profile, "USD", "2025-03-01"), find_rate(profile, "USD", "")
    assert early is not None
    assert undated is not None
    assert (early.day, early.age, undated.day) == ("2025-03-12", -11, "2025-03-19")


def invoice_in(currency: str, day: str) -> dict[str, Any]:
    return {
        "invoice_number": "INV-1", "issue_date": day, "currency": currency,
        "seller": {"name": "Somebody Ltd"}, "buyer": {"name": "Buyer"},
        "totals": {"net": "100.00", "tax": "12.00", "gross": "112.00"},
        "lines": [
            {"description": "Box", "quantity": "2", "unit_price": "50.00", "amount": "100.00"}
        ],
    }  # fmt: skip


def emit(day: str, **told: Any) -> formats.Emitted:
    profile = parse_profile({"daily_rates": DAYS, **told})
    return formats.emit(formats.load("pt_simon_invoice_v1"), invoice_in("USD", day), profile)


def test_coretax_is_written_with_the_rate_of_the_invoices_day() -> None:
    first, second = emit("2025-03-14"), emit("2025-03-20")
    assert b"<TaxBase>1630000" in first.xml
    assert b"<TaxBase>1640000" in second.xml
    assert "the rate of USD is that of 2025-03-12" in first.notes
    assert "exchange_rate" not in first.review


def test_a_rate_of_another_week_is_looked_at() -> None:
    made = emit("2025-04-30")
    assert b"<TaxBase>1640000" in made.xml
    assert "exchange_rate" in made.review


def test_the_owners_number_is_not_put_on_somebody_elses_invoice_unsaid() -> None:
    told = {"tin": "0012345678901000"}
    assert "seller.name" not in emit("2025-03-14", **told).review
    assert "seller.name" in emit("2025-03-14", **told, name="PT Simon").review
    own = emit("2025-03-14", **told, name="PT Simon", other_names="Simon; SOMEBODY")
    assert "seller.name" not in own.review


def test_where_no_seller_was_read_the_owners_name_is_written_and_looked_at() -> None:
    data = invoice_in("EUR", "2025-03-14") | {"seller": {"name": ""}}
    for name in ("ubl_invoice_v1", "cii_invoice_v1"):
        made = formats.emit(formats.load(name), data, parse_profile({"name": "PT Simon"}))
        assert b">PT Simon<" in made.xml
        assert "seller.name" in made.review


def test_a_job_keeps_what_it_took_along_and_gets_what_it_lacked() -> None:
    taken = {"tin": "0012345678901000", "daily_rates": {"USD": {"2025-03-12": "1"}}}
    now = {"tin": "0099999999999000", "country": "ID", "rates": {"EUR": "2"}, "daily_rates": DAYS}
    both = complete_profile(taken, now)
    assert (both.tin, both.country, both.rates) == ("0012345678901000", "ID", {"EUR": "2"})
    assert both.daily_rates == {"USD": {"2025-03-19": "16400", "2025-03-12": "1"}}
    assert complete_profile(None, {}) == parse_profile({})


def test_a_merge_patch_changes_only_what_it_names() -> None:
    merged = merge_changes(
        {"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": None, "e": 4}, "f": {"g": 5}}
    )
    assert merged == {"a": {"c": 2, "e": 4}, "d": 3, "f": {"g": 5}}


async def read_page(client: httpx2.AsyncClient, **asked: str) -> str:
    answer = await client.get("/settings", params=asked)
    assert answer.status_code == 200
    return answer.text


async def test_a_section_of_the_page_is_saved_by_itself(client: httpx2.AsyncClient) -> None:
    await change(client, name="PT Simon", mapping="ubl_invoice_v1")
    form = {"section": "defaults", "pipeline": "invoice", "mapping": "", "review_threshold": "92,5"}
    answer = await client.post("/settings", data=form)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/settings?saved=defaults#defaults"
    now = (await client.get("/api/settings")).json()
    assert (now["name"], now["pipeline"], now["mapping"]) == ("PT Simon", "invoice", "")
    assert now["review_threshold"] == 0.925
    page = await read_page(client, saved="defaults")
    assert "Saved." in page
    assert 'value="92.5"' in page


async def test_rates_are_added_and_removed_on_the_page(client: httpx2.AsyncClient) -> None:
    add = {"section": "rates", "currency": "usd", "day": "2025-03-14", "rupiah": "16 250.5"}
    await client.post("/settings", data=add)
    await client.post("/settings", data={**add, "day": "", "rupiah": "16000"})
    now = (await client.get("/api/settings")).json()
    assert now["daily_rates"] == {"USD": {"2025-03-14": "16250.5"}}
    assert now["rates"] == {"USD": "16000"}
    assert 'value="USD 2025-03-14"' in await read_page(client)
    await client.post("/settings", data={"section": "rates", "remove": "USD 2025-03-14"})
    await client.post("/settings", data={"section": "rates", "remove": "USD"})
    now = (await client.get("/api/settings")).json()
    assert (now["daily_rates"], now["rates"]) == ({}, {})


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"section": "seller", "tin": "123"}, "Not an NPWP of 15 or 16 digits"),
        ({"section": "defaults", "review_threshold": "most"}, "Not a number from 0 to 1"),
        ({"section": "rates", "currency": "USD", "rupiah": "much"}, "Not a number of rupiah"),
    ],
)
async def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    client: httpx2.AsyncClient, form: dict[str, str], says: str
) -> None:
    answer = await client.post("/settings", data=form)
    assert answer.status_code == 400
    assert says in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "Nothing was saved" in answer.text
    assert f'value="{[*form.values()][-1]}"' in answer.text


async def test_who_came_from_a_review_is_led_back_and_nowhere_else(
    client: httpx2.AsyncClient,
) -> None:
    back = "/review/11111111-1111-4111-8111-111111111111"
    page = await read_page(client, back=back, currency="EUR", day="2025-03-14")
    assert f'name="back" value="{back}"' in page
    assert 'value="EUR"' in page
    add = {"section": "rates", "currency": "EUR", "day": "", "rupiah": "1", "back": back}
    saved = await client.post("/settings", data=add)
    assert f'<a href="{back}">' in (await client.get(saved.headers["location"])).text
    for foreign in ("https://evil.example", "//evil.example", "/queue"):
        assert 'name="back"' not in await read_page(client, saved="rates", back=foreign)


def test_rates_are_decimal() -> None:
    found = find_rate(parse_profile({"rates": {"USD": "16250.55"}}), "USD", "2025-01-01")
    assert found is not None
    assert found.rupiah == Decimal("16250.55")


def read_sample(**options: Any) -> dict[str, Any]:
    source = Source(BytesIO(SAMPLES["invoice"].read()), "sample.pdf", PDF, options=options)
    return dict(pipeline.run(source, Tools(progress=lambda percent, stage: None)).data)


def test_how_sure_is_sure_enough_decides_what_a_person_looks_at() -> None:
    usual, strict, lax = (
        read_sample(),
        read_sample(review_threshold=1),
        read_sample(review_threshold=0),
    )
    assert {*lax["review"]} <= {*usual["review"]} < {*strict["review"]}
    assert usual["promise"]["approved_by"] == lax["promise"]["approved_by"] == "rule <= 1 %"
    assert strict["promise"]["approved_by"] is None
    assert "review_threshold" not in usual
    assert find_doubts(strict, strict["checks"]) == strict["review"], "a review asks the same"


@pytest.mark.parametrize(("threshold", "told"), [(0.95, {"review_threshold": 0.95}), (None, {})])
async def test_runs_are_told_what_their_owner_has_set(
    client: httpx2.AsyncClient, site: Site, threshold: float | None, told: dict[str, float]
) -> None:
    await change(client, review_threshold=threshold)
    job_id = (await send(client, "six"))["id"]
    async with site.services.pool.connection() as conn:
        job = await claim_one(conn)
        assert str(job.id) == job_id
        assert await read_run_options(conn, job) == told
