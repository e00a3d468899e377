"""docmill config: every setting, its value and where that comes from."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import typer
from pydantic import AliasChoices, BaseModel, SecretStr
from rich.text import Text

from docmill.cli.console import complain, out, say, say_json
from docmill.cli.options import AsJson
from docmill.core.json_values import is_object
from docmill.settings import CONFIG, PREFIX, ConfigError, Settings, fields, read_settings

app = typer.Typer(
    help="Show and check the configuration.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
MASK: Final = "********"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting. `source` is `default`, `env NAME` or `file PATH`."""

    name: str
    value: Any
    source: str
    description: str


@app.command()
def show(as_json: AsJson = False) -> None:
    """Show every setting: its value, where it comes from, what it is for.

    Secrets are masked. Environment variables override docmill.toml (or the file in
    DOCMILL_CONFIG), which overrides the defaults.

    docmill config show --json | jq '.[] | select(.source != "default")'
    """
    rows = list(_list_rows(read_settings(), _read_file()))
    if as_json:
        say_json([asdict(row) for row in rows])
        return
    for row in rows:
        out.print(
            Text(row.name, "bold"),
            Text(f"= {_format_value(row.value)}"),
            Text(f"({row.source})", "dim" if row.source == "default" else "cyan"),
        )
        out.print(Text(f"    {row.description}", "dim"))


@app.command()
def check(as_json: AsJson = False) -> None:
    """Check the configuration: exit 0 if docmill could start with it, otherwise 1 with every
    mistake."""
    try:
        read_settings()
    except ConfigError as exc:
        mistakes = str(exc).splitlines()
    else:
        mistakes = []
    if as_json:
        say_json({"ok": not mistakes, "mistakes": mistakes})
    elif mistakes:
        complain("\n".join(mistakes), "`docmill config show` and docs/reference list the settings.")
    else:
        say("The configuration is fine.")
    if mistakes:
        raise typer.Exit(1)


def find_mappings_dir() -> Path | None:
    """For commands of rooms, which do not read settings."""
    return read_settings().mappings_dir


def _list_rows(settings: Settings, file: Mapping[str, Any]) -> Iterator[SettingRow]:
    for name, field in fields().items():
        yield SettingRow(
            PREFIX + name.upper(),
            mask(getattr(settings, name), address=name.endswith("_url")),
            _find_source(name, field.validation_alias, file),
            field.description or "",
        )


def _find_source(name: str, alias: object, file: Mapping[str, Any]) -> str:
    """Settings are read without regard to case, the names of a setting in their order."""
    given = {variable.upper() for variable in os.environ}
    names = [PREFIX + name.upper()]
    if isinstance(alias, AliasChoices):
        names = [choice.upper() for choice in alias.choices if isinstance(choice, str)]
    for variable in names:
        if variable in given:
            return f"env {variable}"
    return f"file {_config_path()}" if name in file else "default"


def _config_path() -> Path:
    return Path(os.environ.get(CONFIG, "docmill.toml"))


def _read_file() -> Mapping[str, Any]:
    """What the file sets; whether it may is for `read` to say."""
    return tomllib.loads(_config_path().read_text("utf-8")) if _config_path().is_file() else {}


def mask(value: Any, *, address: bool) -> Any:
    """For showing: no secret, and no password in an address."""
    if isinstance(value, SecretStr):
        return _hide_password(value.get_secret_value()) if address else MASK
    if isinstance(value, str) and "@" in value:
        return _hide_password(value)
    if is_object(value):
        return {key: mask(part, address=False) for key, part in value.items()}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value) if isinstance(value, Path) else value


def _hide_password(url: str) -> str:
    """Host and path stay: they are what one looks for. Parameters may hold a password as well."""
    try:
        parts = urlsplit(url)
        if not parts.scheme or not parts.netloc:
            return MASK
        user = f"{parts.username}:{MASK}@" if parts.password else ""
        user = user or (f"{parts.username}@" if parts.username else "")
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return MASK
    return f"{parts.scheme}://{user}{host}{parts.path}{'?' + MASK if parts.query else ''}"


def _format_value(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[Any, ...]", value)))
    return str(value)
