"""docmill mapping: which mappings there are, whether a file is one, and what one makes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill import mappings
from docmill.cli.console import complain, err, out, say, say_json
from docmill.cli.mapping_diff import diff
from docmill.cli.mapping_files import chosen
from docmill.core.faults import Faulted
from docmill.mappings import BadMapping, Emitted, InvoiceMapping, Profile
from docmill.mappings.checkers import dispatch
from docmill.mappings.checkers.en16931 import Unavailable
from docmill.mappings.checkers.problems import Problem, passed

app = typer.Typer(
    name="mapping", help="Which XML an invoice becomes.", no_args_is_help=True, add_completion=False
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
app.command()(diff)


@app.command("list")
def list_mappings(as_json: AsJson = False) -> None:
    """The mappings that come with docmill."""
    found = [mappings.load(name) for name in mappings.names()]
    if as_json:
        say_json([{"name": each.name, "title": each.title} for each in found])
        return
    for each in found:
        is_default = each.name == mappings.DEFAULT
        say(f"{each.name:<22}{each.title}{' (default)' if is_default else ''}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A mapping file.")],
    as_json: AsJson = False,
) -> None:
    """Whether a mapping file can be used; if not, every trouble with its line.

    docmill mapping check our_invoice_v1.mapping
    """
    try:
        mapping = mappings.load_file(file)
    except BadMapping as exc:
        if as_json:
            say_json([asdict(trouble) for trouble in exc.troubles])
        for trouble in () if as_json else exc.troubles:
            err.print(str(trouble), markup=False)
        raise typer.Exit(1) from exc
    except OSError as exc:
        complain(f"Can't read {file}: {exc.strerror}", "Give the path of a mapping file.")
        raise typer.Exit(1) from exc
    say_json([]) if as_json else say(f"{mapping.name}: no troubles")


@app.command("try")
def try_mapping(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mapping, or the path of a file.")],
    invoice: Annotated[Path, typer.Argument(metavar="INVOICE.json", help="What was read.")],
    profile: Annotated[
        Path | None, typer.Option(help="The owner's tin, idtku, trx_code ..")
    ] = None,
    pretty: Annotated[bool, typer.Option("--pretty", help="Indent the XML.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an invoice's XML here, and say what is wrong with it; nothing is stored.

    The XML goes to standard output, the rest to standard error. Exit 1 when a rule is broken.

    docmill mapping try ubl_invoice_v1 invoice.json --pretty
    """
    mapping = chosen(name)
    try:
        own = mappings.profile_of(_json(profile)) if profile else Profile()
        emitted = mappings.emit(mapping, _json(invoice), own, pretty=pretty)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--profile") from exc
    except Faulted as exc:
        complain(f"{exc.fault.code}: {exc.fault.says}", exc.detail)
        raise typer.Exit(1) from exc
    problems = _problems(mapping, emitted)
    if as_json:
        say_json(_report(emitted, problems))
    else:
        out.file.write(emitted.xml.decode().rstrip("\n") + "\n")
        _tell(emitted, problems)
    if not passed(problems):
        raise typer.Exit(1)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise typer.BadParameter(f"{path}: {exc}") from exc
    if not isinstance(data, dict):
        raise typer.BadParameter(f"{path}: a JSON object is wanted")
    return {**data}


def _problems(mapping: InvoiceMapping, emitted: Emitted) -> list[Problem]:
    try:
        return dispatch.check(mapping, emitted.xml)
    except Unavailable as exc:
        complain("Not checked.", str(exc))
        return []


def _report(emitted: Emitted, problems: list[Problem]) -> dict[str, Any]:
    return {
        "xml": emitted.xml.decode(),
        "review": emitted.review,
        "notes": emitted.notes,
        "problems": [asdict(problem) for problem in problems],
    }


def _tell(emitted: Emitted, problems: list[Problem]) -> None:
    for path in emitted.review:
        err.print(f"review   {path}", markup=False)
    for note in emitted.notes:
        err.print(f"note     {note}", markup=False)
    for problem in problems:
        err.print(f"{problem.severity:<9}{problem}", markup=False)
