"""What `extract` found, as Markdown and as plain text."""

from collections.abc import Mapping
from typing import Any

from docmill.reading import markdown


def write_markdown(data: Mapping[str, Any], _title: str) -> bytes:
    return markdown.write_markdown(data).encode()


def write_text(data: Mapping[str, Any], _title: str) -> bytes:
    return markdown.write_text(data).encode()
