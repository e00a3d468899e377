"""A mapping as a command is given it: by its name, or as the path of a file."""

from pathlib import Path

import typer

from docmill import mappings
from docmill.mappings import BadMapping, InvoiceMapping


def chosen(name: str) -> InvoiceMapping:
    if name in mappings.names() or not Path(name).is_file():
        return mappings.load(name)
    try:
        return mappings.load_file(Path(name))
    except BadMapping as exc:
        raise typer.BadParameter(str(exc), param_hint="NAME") from exc
