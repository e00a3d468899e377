"""Packs docmill.client, and the modules of docmill.core that it uses, as docmill_client."""

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).resolve().parent.parent / "src" / "docmill"
USED = re.compile(r"^from docmill\.core(?:\.(\w+) import| import \(?([\w, \n]+)\)?)", re.MULTILINE)


class ClientBuild(BuildHookInterface[Any]):
    """The wheel's files are made anew for every build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        folder = Path(tempfile.mkdtemp(prefix="docmill-client-")) / "docmill_client"
        (folder / "core").mkdir(parents=True)
        texts = [_pack(path, folder) for path in sorted((SOURCE / "client").glob("*.py"))]
        for name in sorted(_close({name for text in texts for name in _find_used(text)})):
            _pack(SOURCE / "core" / f"{name}.py", folder / "core")
        _pack(SOURCE / "core" / "__init__.py", folder / "core")
        (folder / "py.typed").touch()
        build_data["force_include"][str(folder)] = "docmill_client"


def _pack(path: Path, folder: Path) -> str:
    text = path.read_text("utf-8")
    renamed = text.replace("docmill.client", "docmill_client")
    renamed = renamed.replace("docmill.core", "docmill_client.core")
    (folder / path.name).write_text(renamed, "utf-8")
    return text


def _find_used(text: str) -> set[str]:
    found = USED.findall(text)
    return {name for one, many in found for name in re.findall(r"\w+", one or many)}


def _close(names: set[str]) -> set[str]:
    """With what those use in turn."""
    more = set(names)
    while True:
        texts = ((SOURCE / "core" / f"{name}.py").read_text("utf-8") for name in more)
        wider = more.union(*map(_find_used, texts))
        if wider == more:
            return more
        more = wider
