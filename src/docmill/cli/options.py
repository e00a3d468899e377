"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

Port = Annotated[int | None, typer.Option(help="Port to serve on; 0 takes a free one.")]
Host = Annotated[str | None, typer.Option(help="Address to serve on.")]
Data = Annotated[Path | None, typer.Option(help="Folder for the database and the files.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[int, typer.Option(min=0, help="How many; 0 for all.")]
