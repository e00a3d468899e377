"""The option --output: where a command's one file goes, or else to standard output."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from docmill.cli.files import write_whole
from docmill.client.answers import Refused


def _check_folder(output: Path | None) -> Path | None:
    if output and not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"There is no folder for {output}.")
    return output


Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", dir_okay=False, callback=_check_folder,
        help="File to write; never left half written.",
    ),
]  # fmt: skip


@contextmanager
def open_output(output: Path | None) -> Generator[BinaryIO]:
    try:
        with write_whole(output) if output else nullcontext(sys.stdout.buffer) as file:
            yield file
            file.flush()
    except OSError as exc:
        if output is None:
            raise
        says = f"{output} can't be written: {exc.strerror}."
        raise Refused(says, "Choose another place with --output.") from exc
