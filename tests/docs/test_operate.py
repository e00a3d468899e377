"""The operators' pages are true: their commands run, and what the table of risks names exists."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from command_server import write_program
from docmill.db.embedded import find_installations
from folders import quick_folder
from terminal import SOON, Served, Terminal, letter, wait_for
from warm_sandboxes import WARM

ROOT: Final = Path(__file__).parents[2]
OPERATE: Final = ROOT / "docs" / "operate"
FENCE: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_FENCE: Final = re.compile(r"^ *```(\S*)$", re.MULTILINE)
ASSIGNMENT: Final = re.compile(r"([A-Z][A-Z0-9_]*)=\S*(\s+#.*)?")
NOT_RUN: Final = "# not run: "
# They end with 1 when readings differ, or when something is to be mended: that is an answer.
TELLING: Final = ("docmill compare", "docmill replay", "docmill doctor")


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    text: str

    @property
    def lines(self) -> list[str]:
        return [one for one in self.text.splitlines() if one.strip()]

    @property
    def is_marked(self) -> bool:
        return self.text.startswith(NOT_RUN)

    @property
    def is_settings(self) -> bool:
        return all(ASSIGNMENT.fullmatch(one) for one in self.lines)


def list_blocks() -> Iterator[Block]:
    for page in sorted(OPERATE.glob("*.md")):
        text = page.read_text("utf-8")
        for found in FENCE.finditer(text):
            yield Block(page.name, text[: found.start()].count("\n") + 1, found[1])


BLOCKS: Final = list(list_blocks())
RUN: Final = [one for one in BLOCKS if not one.is_marked and not one.is_settings]


def test_what_is_not_run_says_why_and_is_little() -> None:
    marked = [one for one in BLOCKS if one.is_marked]
    assert all(len(one.lines[0]) > len(NOT_RUN) + 10 for one in marked)
    assert len(marked) <= 10, "more blocks are left out than there were: run them, or say why here"
    assert len(RUN) >= 9


def test_every_block_says_what_it_is() -> None:
    """A block of commands without its language would be run by nobody."""
    for page in OPERATE.glob("*.md"):
        opening = ANY_FENCE.findall(page.read_text("utf-8"))[::2]
        assert all(opening), f"{page.name}: a block without a language"
        assert not {"bash", "shell", "console"} & {*opening}, page.name


def test_the_settings_of_blocks_exist() -> None:
    known = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    for block in BLOCKS:
        for line in block.lines if block.is_settings else ():
            found = ASSIGNMENT.fullmatch(line)
            assert found
            assert f"`{found[1]}`" in known, f"{block.page}:{block.line}: {found[1]}"


@pytest.fixture(scope="module")
def shell() -> Iterator[dict[str, str]]:
    """A running docmill as the pages have it: its data beside, a letter that was read."""
    with quick_folder("docs") as home:
        (home / "letter.pdf").write_bytes(letter("Invoice number: 42"))
        settings = {"AUTH_MODE": "session", "DOCMILL_DEFAULT_PIPELINE": "extract", **WARM}
        terminal = Terminal(home, settings)
        served = Served(terminal, home / "data")
        try:
            yield prepare(terminal.with_(DOCMILL_URL=served.url), served)
        finally:
            served.stop()


def prepare(terminal: Terminal, served: Served) -> dict[str, str]:
    assert terminal.run("submit", "letter.pdf").code == 0
    (job,) = [one["id"] for one in terminal.run("jobs", "--json").json]
    wait_for(lambda: served.job(terminal, job)["status"] == "complete")
    (terminal.home / "docmill.log").write_bytes(served.log.read_bytes())
    data = str(served.data)
    owner = served.job(terminal, job)["owner_session_id"]
    forked = terminal.home / "bin"
    forked.mkdir()
    write_program(forked)
    programs = [forked, Path(sys.executable).parent, *find_installations()]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    return {
        **terminal.environment, "PATH": path, "JOB": job, "DOCMILL_DATA": data,
        "SESSION": str(owner), "HOME": str(terminal.home), "PWD": str(terminal.home),
    }  # fmt: skip


def make_script(block: Block) -> str:
    """Line after line, each of which has to end well."""
    lines = [
        f"{one.partition('  #')[0]} || [ $? = 1 ]" if one.startswith(TELLING) else one
        for one in block.lines
    ]
    return "set -eu -o pipefail\n" + "\n".join(lines)


@pytest.mark.parametrize("page", sorted({one.page for one in RUN}))
def test_commands_of_a_page_run_in_their_order(page: str, shell: dict[str, str]) -> None:
    script = "\n".join(make_script(one) for one in RUN if one.page == page)
    ran = subprocess.run(
        ["bash", "-c", script], env=shell, cwd=shell["PWD"], capture_output=True,
        text=True, timeout=SOON, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def read_risks() -> list[list[str]]:
    rows = re.findall(r"^\|(.+)\|$", (OPERATE / "risks.md").read_text("utf-8"), re.MULTILINE)
    return [row.split("|") for row in rows][2:]


def test_the_risks_name_logs_metrics_and_alerts_that_exist() -> None:
    watched = (OPERATE / "watch.md").read_text("utf-8")
    rules = (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in (ROOT / "src" / "docmill").rglob("*.py"))
    commands = json.dumps((ROOT / "docs" / "reference" / "commands.md").read_text("utf-8"))
    risks = read_risks()
    assert len(risks) >= 7, "source 000 lists seven"
    for risk in risks:
        for event in re.findall(r"`([a-z_]+\.[a-z_]+)`", risk[1]):
            part, _, waits = event.partition(".waits")  # a loop's name and the word, in two places
            assert f'"{event}"' in code or (not waits and f'"{part}"' in code), event
        for metric in re.findall(r"`([a-z_]+)`", risk[2]):
            assert f"`{metric}" in watched, metric
        for alert in re.findall(r"\[(\w+)\]", risk[3]):
            assert f"alert: {alert}" in rules, alert
        for command in re.findall(r"`docmill ([a-z]+(?: [a-z]+)?)", risk[5]):
            assert f"docmill {command}" in commands, command
