"""Pages keep their promises: links lead somewhere, the README fits a screen, nothing leaks."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from docmill.core import plugins

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])

LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING: Final = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)

# Registries, in pieces, so that this file does not name them; and the folder of one machine.
HOSTS: Final = ("pypi org", "pythonhosted org", "npmjs org", "npmjs com", "anaconda org")
FORBIDDEN: Final = re.compile(
    "|".join(re.escape(host.replace(" ", ".")) for host in HOSTS) + r"|(?<![\w.$}*-])/wor[k]/",
    re.IGNORECASE,
)


def links(page: Path) -> Iterator[str]:
    yield from LINK.findall(CODE.sub("", page.read_text("utf-8")))


@cache
def anchors(page: Path) -> set[str]:
    """As forges make them of headings."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"[^\w\- ]", "", title).strip().lower() for title in HEADING.findall(prose))
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = {ROOT / "README.md", ROOT / "CHANGELOG.md"}, [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        new = {target for target in found if target.suffix == ".md"} - reached
        reached |= new
        waiting += new
    assert reached >= {*PAGES}


def names(page: Path) -> Iterator[str]:
    """What stands in backticks, examples in blocks left out."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", prose)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_and_file_of_the_code_exists(page: Path) -> None:
    """`docmill.module:name`, and paths from the root or from src/docmill such as `core/jobs.py`."""
    for name in names(page):
        if re.fullmatch(r"docmill(\.\w+)+:\w+", name):
            assert plugins.resolve(name), name
        elif page.name != "CHANGELOG.md" and re.fullmatch(
            r"[\w./-]+/[\w-]+\.(py|sql|tsv|toml)", name
        ):
            roots = (ROOT, ROOT / "src", ROOT / "src" / "docmill", ROOT / "docs")
            assert name.startswith("docmill-") or any((one / name).exists() for one in roots), name


def test_the_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 60


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    told = subprocess.run(listed, cwd=ROOT, capture_output=True, check=False)
    if told.returncode != 0:
        pytest.skip("not a git repository, so nobody knows which files are committed")
    for name in filter(None, told.stdout.decode().split("\0")):
        path = ROOT / name
        data = path.read_bytes() if path.is_file() else b""
        if b"\0" not in data:
            found = FORBIDDEN.search(data.decode("utf-8", "replace"))
            assert found is None, f"{name}: {found}"
