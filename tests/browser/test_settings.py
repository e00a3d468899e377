"""Settings by keyboard, and the samples of an empty queue."""

from playwright.sync_api import Page, expect

from browser.eyes import Watch, axe_everywhere


def test_who_one_is_and_a_rate_are_set_with_the_keyboard(page: Page, watch: Watch) -> None:
    watch.forgive("400")
    page.goto("/settings")
    page.get_by_label("Company name").focus()
    page.keyboard.type("PT Simon")
    page.get_by_label("NPWP").focus()
    page.keyboard.type("123")
    page.keyboard.press("Enter")
    wrong = page.get_by_label("NPWP")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_label("Company name")).to_have_value("PT Simon")
    axe_everywhere(page)
    wrong.fill("01.234.567.8-901.000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved.")

    page.get_by_label("Currency", exact=True).fill("eur")
    page.get_by_label("From", exact=True).fill("2025-03-14")
    page.get_by_label("Rupiah for one unit").fill("17600")
    page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has_text="EUR")
    expect(row).to_contain_text("2025-03-14")
    axe_everywhere(page)
    page.get_by_label("Currency", exact=True).fill("usd")
    page.get_by_label("Rupiah for one unit").fill("16250")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text="USD")).to_contain_text("every day")
    expect(row).to_be_visible()
    row.get_by_role("button", name="Remove EUR 2025-03-14").click()
    page.get_by_role("button", name="Remove USD of every day").click()
    expect(page.get_by_text("No rate yet.")).to_be_visible()
    expect(page.get_by_label("Company name")).to_have_value("PT Simon")


def test_what_is_preferred_is_chosen_on_the_queue_page(page: Page) -> None:
    page.goto("/settings")
    page.get_by_label("Read uploads as").select_option("study")
    page.locator("#defaults").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    page.goto("/queue")
    expect(page.get_by_label("Convert with")).to_have_value("study")


def test_nothing_scrolls_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto("/settings")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_an_empty_queue_offers_samples_and_one_click_reads_one(page: Page) -> None:
    page.goto("/queue")
    axe_everywhere(page)
    page.get_by_role("button", name="Try the sample invoice").click()
    page.wait_for_url("**/jobs/*")
    expect(page.get_by_text("sample-invoice.pdf").first).to_be_visible()
    page.goto("/queue")
    expect(page.get_by_role("link", name="sample-invoice.pdf", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Try the sample invoice")).to_be_hidden()
