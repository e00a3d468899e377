"""What a test sees of a page beyond its content: errors, strangers, and what axe has to say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

SCHEMES: Final = ("light", "dark")
WIDTHS: Final = (320, 1280)
COLOUR_RULES: Final = ("color-contrast", "link-in-text-block")

# axe keeps what is private to its objects in weak maps, six of them for each colour that it
# compares: filling them, and looking for garbage in them, took a fifth of its time. In a property
# that nobody else can name it finds the same, sooner.
ENGINE: Final = """() => {
const keep = () => class {
  #name = Symbol();
  has(key) { return Object(key) === key && this.#name in key; }
  get(key) { return key?.[this.#name]; }
  set(key, value) { key[this.#name] = value; return this; }
  add(key) { return this.set(key, true); }
  delete(key) { return delete key[this.#name]; }
};
const WeakMap = keep(), WeakSet = keep();
AXE
}"""


@dataclass  # without slots: Playwright writes on whoever listens
class Watch:
    """Collects what must not happen on any page of a browser, until `check`."""

    home: str
    console: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    strangers: list[str] = field(default_factory=list[str])
    forgiven: list[str] = field(default_factory=list[str])

    def over(self, context: BrowserContext) -> None:
        context.on("console", self._heard)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("request", self._asked)

    def forgive(self, *patterns: str) -> None:
        """Console lines that a test brings about itself: a server it stopped, a file refused."""
        self.forgiven += patterns

    def check(self) -> None:
        worse = [line for line in self.console if not self._is_forgiven(line)]
        assert (worse, self.errors, self.strangers) == ([], [], [])

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.console.append(f"{message.text} ({message.location['url']})")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:", "blob:", "about:")):
            self.strangers.append(request.url)

    def _is_forgiven(self, line: str) -> bool:
        return any(re.search(pattern, line) for pattern in self.forgiven)


def axe(page: Page, rules: Sequence[str] = ()) -> None:
    """The page as it is now breaks no rule of axe, or none of these."""
    if not page.evaluate("'axe' in window"):  # it is large, and stays until the page is left
        engine: Any = Axe()
        page.evaluate(ENGINE.replace("AXE", engine.axe_script))
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = page.evaluate("options => axe.run(options)", options)
    told = [
        f"{rule['id']}: {rule['help']}\n    "
        + "\n    ".join(f"{node['html'][:160]} {node['failureSummary']}" for node in rule["nodes"])
        for rule in found["violations"]
    ]
    assert not told, "\n".join(told)


def axe_everywhere(page: Page) -> None:
    """Light and dark, narrow and wide; and nothing is wider than the window.

    What is dark differs in its colours alone, so only those are looked at again.
    """
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            axe(page, COLOUR_RULES if scheme == "dark" else ())
            across = page.evaluate("document.documentElement.scrollWidth")
            assert across <= width, f"{page.url} is {across} px wide in a window of {width}"
