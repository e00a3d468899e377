"""Writes docs/reference from the code; with --check, fails when a page there is stale."""

import argparse
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin
from unittest.mock import Mock

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from docmill import app, settings
from docmill.app import App
from docmill.cli.commands import COMMANDS
from docmill.cli.program import load_command
from docmill.core import faults, jobs
from docmill.core.jobs import Status
from docmill.db import migrate
from docmill.invoices import fields
from docmill.web.config import WebConfig

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
SOURCE: Final = FOLDER.parents[1] / "src" / "docmill"
MADE: Final = "<!-- Written by `make reference` from the code. Do not edit. -->"

# What the code does not say itself, for people. A word that is missing there is a KeyError here.
WORDING: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check: bool = parser.parse_args().check
    old = stale()
    if check and old:
        sys.exit(f"Stale: {', '.join(old)} in docs/reference.\nRun `make reference`.")
    for name in old:
        (FOLDER / name).write_text(PAGES[name](), "utf-8")
        sys.stdout.write(f"reference: wrote {name}\n")


def stale() -> list[str]:
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    return [name for name, write in PAGES.items() if kept.get(name) != write()]


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts if part)]) + "\n"


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def settings_page() -> str:
    intro = (
        "Every setting is an environment variable, and a key of `docmill.toml` in the working "
        "folder or of the file that `DOCMILL_CONFIG` names. The command line wins over the "
        "environment, and the environment over the file. A name that is not in this list stops "
        "the start. `docmill config show` prints what is in force."
    )
    heads = ("variable", "key in `docmill.toml`", "type", "default", "what it is")
    rows = (
        (_variables(name, field), f"`{name}`", _kind(field.annotation), _default(field),
         _bounded(field))
        for name, field in settings.fields().items()
    )  # fmt: skip
    others = (
        "Read by the commands that speak to a running server, and not part of the file: "
        "`DOCMILL_URL`, `DOCMILL_TOKEN`."
    )
    return _page("Settings", intro, _table(heads, rows), others)


def _variables(name: str, field: FieldInfo) -> str:
    given = field.validation_alias
    names = [one for one in given.choices if one != name] if isinstance(given, AliasChoices) else []
    return ", ".join(f"`{one}`" for one in names or [settings.PREFIX + name.upper()])


def _kind(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    kinds = [kind for kind in get_args(annotation) if kind not in (NoneType, Ellipsis)]
    if get_origin(annotation) is tuple:
        return f"list of {_kind(kinds[0])}"
    if get_origin(annotation) is not None and len(kinds) == 1:
        return _kind(kinds[0])
    words = {"SecretStr": "secret", "str": "text", "int": "whole number", "float": "number"}
    name = getattr(get_origin(annotation) or annotation, "__name__", str(annotation))
    return {**words, "bool": "true or false", "Path": "folder", "Mapping": "table"}.get(name, name)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value in ("", (), {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _bounded(field: FieldInfo) -> str:
    signs = {"ge": "at least", "gt": "more than", "le": "at most"}
    bounds = [
        f"{sign} {getattr(bound, name)}"
        for bound in field.metadata
        for name, sign in signs.items()
        if hasattr(bound, name)
    ]
    return " ".join([field.description or "", f"({', '.join(bounds)})" if bounds else ""])


def faults_page() -> str:
    intro = (
        "Every way a request or a job can go wrong. The code is a contract: rows are added, never "
        "renamed. *Status* is the HTTP status of a request that meets the fault. *Says* is the "
        "sentence of pages and commands, and of API answers unless another stands below it. "
        "*Retried* tells whether a job that meets it is tried again while attempts are left."
    )
    rows = (
        (f"`{fault.code}`", str(fault.status), _said(fault), fault.advice,
         "yes" if fault.retried else "no")
        for fault in faults.FAULTS.values()
    )  # fmt: skip
    return _page("Faults", intro, _table(("code", "status", "says", "what to do", "retried"), rows))


def _said(fault: faults.Fault) -> str:
    return f"{fault.says}<br>API: {fault.api}" if fault.api else fault.says


def commands_page() -> str:
    intro = (
        "Exit codes: 0 done; 1 a fault, told in two lines (what happened, what to do); 2 wrong "
        "usage. Every command has `--help`; `docmill --version` prints the version."
    )
    parts = (part for name in COMMANDS for part in _command(load_command(name), f"docmill {name}"))
    return _page("Commands", intro, *parts)


def _command(command: Any, name: str) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield f"## {name}\n\n```text\n{usage}\n```\n\n{_paragraphs(command.help or '')}"
    params = [param for param in command.get_params(context) if param.name != "help"]
    records = filter(None, (param.get_help_record(context) for param in params))
    if rows := [(f"`{words}`", says) for words, says in records]:
        yield _table(("argument or option", "what it does"), iter(rows))
    for word, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, f"{name} {word}")


def _paragraphs(text: str) -> str:
    """Lines joined; a paragraph that is a command stands apart."""
    joined = (" ".join(part.split()) for part in text.replace("\b", "").split("\n\n"))
    return "\n\n".join(
        f"```sh\n{part}\n```" if part.startswith("docmill ") else part for part in joined
    )


def api_page() -> str:
    # The routes and their answers need no database; nothing is asked of the services.
    document = app.create_web(Mock(spec=App), WebConfig()).openapi()
    intro = (
        "Every route, from the OpenAPI document that a running server gives at `/openapi.json`. "
        "Errors are problem documents; [faults](faults.md) explains their codes."
    )
    routes = (
        _route(f"{method.upper()} {path}", operation)
        for path, operations in sorted(document["paths"].items())
        for method, operation in operations.items()
    )
    schemas = (
        _schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())
    )
    bodies = "## Bodies\n\nWhat the answers above are made of."
    return _page("API", intro, *routes, bodies, *schemas)


def _route(title: str, operation: Mapping[str, Any]) -> str:
    parts = [
        f"## `{title}`",
        f"{operation['summary']}.",
        _paragraphs(operation.get("description", "")),
    ]
    asked = [
        (f"`{p['name']}`", p["in"], _shape(p["schema"]), p.get("description", ""))
        for p in operation.get("parameters", ())
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        asked += [
            (f"`{name}`", kind, _shape(one), one.get("description", ""))
            for name, one in body["schema"].get("properties", {}).items()
        ]
    if asked:
        parts.append(_table(("parameter", "in", "type", "what it is"), iter(asked)))
    answers = (
        (status, _contents(answer), _told(answer["description"]))
        for status, answer in sorted(operation["responses"].items())
    )
    parts.append(_table(("status", "body", "what it says"), answers))
    return "\n\n".join(filter(None, parts))


def _told(description: str) -> str:
    return "" if description == "Successful Response" else description.replace("; ", "<br>")


def _contents(answer: Mapping[str, Any]) -> str:
    content: Mapping[str, Any] = answer.get("content", {})
    return ", ".join(
        _shape(body["schema"]) if body.get("schema") else f"`{kind}`"
        for kind, body in content.items()
    )


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    rows = (
        (f"`{field}`", _shape(one), _meaning(one))
        for field, one in schema.get("properties", {}).items()
    )
    table = _table(("field", "type", "what it is"), rows)
    says = _paragraphs(schema.get("description", ""))
    return "\n\n".join(filter(None, [f"### {name}", says, table]))


def _meaning(schema: Mapping[str, Any]) -> str:
    shown = ", ".join(f"`{example}`" for example in schema.get("examples", ()))
    return "; ".join(filter(None, [schema.get("description"), f"such as {shown}" if shown else ""]))


def _shape(schema: Mapping[str, Any]) -> str:
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf"):
        return " or ".join(_shape(choice) for choice in choices)
    if schema.get("type") == "array":
        kinds = {_shape(each) for each in schema.get("prefixItems") or [schema["items"]]}
        return f"list of {' or '.join(sorted(kinds))}"
    return schema.get("format") or schema.get("type", "any")


def jobs_page() -> str:
    states = (
        (
            f"`{status}`",
            status.label,
            f"`{status.row.api_word}`",
            status.row.meaning,
        )
        for status in Status
    )
    moves = (
        (f"`{one}`", f"`{to}`", one.row.moves[to])
        for one in Status
        for to in Status
        if (one, to) in jobs.MOVES
    )
    parts = {
        "Statuses": _table(("status", "shown as", "in `/api/job-status`", "meaning"), states),
        "Moves": _table(("from", "to", "when"), moves),
        "Retries": _retries(jobs.Retry()),
        "Events": _listed("job_events", "kind", WORDING["events"], _is_event_written),
        "Outcomes of attempts": _listed("job_attempts", "outcome", WORDING["outcomes"]),
    }
    intro = "Moves that are not in the table are refused by the database itself."
    return _page("Jobs", intro, *(f"## {title}\n\n{part}" for title, part in parts.items()))


def _retries(rule: jobs.Retry) -> str:
    base, jitter = rule.base.total_seconds(), rule.jitter.total_seconds()
    return (
        f"A job is tried {rule.attempts} times. Before the next try it waits {base:g} s x "
        f"2^attempt and up to {jitter:g} s more by chance. [Settings](settings.md) change this, "
        "also for one pipeline. A job whose worker was lost does not wait."
    )


def _listed(
    table: str,
    column: str,
    says: Mapping[str, str],
    is_written: Callable[[str], bool] = bool,
) -> str:
    """The words that the schema allows in a column."""
    sql = "\n".join(migration.sql for migration in migrate.read_migrations(migrate.FOLDER))
    inside = re.search(rf"CREATE TABLE {table} \((.*?)\n\)", sql, re.DOTALL)
    found = re.search(rf"CHECK \({column} IN \((.*?)\)\)", inside[1] if inside else "", re.DOTALL)
    assert found, f"{table}.{column} has no list of words"
    rows = (
        (f"`{word}`", says[word] if is_written(word) else "Allowed; nothing writes it.")
        for word in re.findall(r"'(\w+)'", found[1])
    )
    return _table((column, "meaning"), rows)


def _is_event_written(word: str) -> bool:
    """Whether a module that writes events has the word in quotes."""
    quoted = re.compile(rf"['\"]{word}['\"]")
    sources = (path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    return any("INSERT INTO job_events" in text and quoted.search(text) for text in sources)


def invoices_page() -> str:
    intro = (
        "Every value of an invoice, by its path in results, edits and mapping files; in a mapping "
        "file a line's value is written with a dot before its name, such as `.amount`. *Needed*: a "
        "person is asked for it where it is missing. *Doubted*: a person is asked to look where it "
        "was read without certainty. *Learned*: a correction teaches where it stands in documents "
        "of the same layout. *Read*: every result names it; others are there where they are given."
    )
    heads = ("path", "label", "kind", "needed", "doubted", "learned", "read")
    parts = [
        f"## {title}\n\n{_table(heads, map(_invoice_field, rows))}"
        for title, rows in (("Invoice", fields.FIELDS), ("Each line", fields.LINE_FIELDS))
    ]
    return _page("Invoices", intro, *parts)


def _invoice_field(field: fields.InvoiceField) -> tuple[str, ...]:
    flags = (field.needed, field.doubted, field.taught, field.read)
    words = ("yes" if flag else "" for flag in flags)
    return (f"`{field.path}`", field.label, str(field.kind), *words)


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": settings_page,
    "faults.md": faults_page,
    "commands.md": commands_page,
    "api.md": api_page,
    "jobs.md": jobs_page,
    "invoices.md": invoices_page,
}

if __name__ == "__main__":
    main()
