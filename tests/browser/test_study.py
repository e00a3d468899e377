"""The study page, and the example of a page that polls."""

import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from browser.eyes import axe_everywhere
from study.texts import RIVER

EXAMPLES = Path(__file__).parents[2] / "examples"
POLLED = """async (text) => {
  const { study } = await import("/examples/polling.js");
  const steps = [];
  const file = new File([text], "river.txt", { type: "text/plain" });
  const set = await study(file, { every: 1000, told: (status) => steps.push(status.progress) });
  const { jobs } = await (await fetch("/api/jobs")).json();
  return { words: set.vocabulary.length, steps, job: jobs[0].id };
}"""
FAILING = """async (answers) => {
  const { study } = await import("/examples/polling.js");
  let polls = 0;
  window.fetch = async (url) => new Response(JSON.stringify(
    url.includes("upload") ? { jobId: "j" } : answers[Math.min(polls++, answers.length - 1)]));
  try {
    await study(new File(["x"], "x.txt"), { every: 0 });
  } catch (error) {
    return [error.message, polls];
  }
}"""


def serve_examples(page: Page) -> None:
    def answer(route: Route) -> None:
        route.fulfill(path=EXAMPLES / "polling.js", content_type="text/javascript")

    page.route("**/examples/polling.js", answer)


def test_cards_turn_by_keyboard_and_the_page_is_in_order(page: Page) -> None:
    serve_examples(page)
    page.goto("/queue")
    made = page.evaluate(POLLED, RIVER)
    assert made["words"] >= 10
    assert made["steps"] == sorted(made["steps"])

    page.goto(f"/study/{made['job']}")
    card = page.locator(".flash:visible")
    expect(card).to_have_count(1)
    expect(page.locator("#place")).to_contain_text("Card 1 of")
    page.keyboard.press("Space")  # wherever the focus is
    expect(card.locator(".back")).to_be_visible()
    axe_everywhere(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#place")).to_contain_text("Card 2 of")
    expect(card.locator(".back")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(card.locator(".back")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#place")).to_contain_text("Card 1 of")
    page.keyboard.press("2")
    page.reload()
    expect(page.locator("#place")).to_contain_text(", 1 known")
    expect(page.locator("#place")).to_contain_text("Card 2 of")
    page.get_by_role("button", name="Start again").click()
    expect(page.locator("#place")).to_have_text(re.compile(r"Card 1 of \d+$"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Anki").click()
    assert download.value.suggested_filename == "river.apkg"


def test_polling_stops_when_the_job_failed_or_after_150_polls(page: Page) -> None:
    serve_examples(page)
    page.goto("/docs")
    queued = {"status": "queued", "progress": 0}
    failed = {"status": "failed", "progress": 0, "error": "This file is damaged"}

    assert page.evaluate(FAILING, [queued, failed]) == ["This file is damaged", 2]
    page.goto("/docs")
    said, polls = page.evaluate(FAILING, [queued])
    assert polls == 150
    assert said.startswith("Not done after 150 polls")
