"""Mappings: files that say which XML an invoice becomes; and the way back from that XML."""

from docmill.mappings.catalog import DEFAULT, load, load_file, names
from docmill.mappings.editing import Change, bracketed, value_at
from docmill.mappings.emitting import Emitted, emit, emit_all
from docmill.mappings.profile import Profile, profile_of
from docmill.mappings.profile_checks import mistakes as profile_mistakes
from docmill.mappings.rereading import read_back, read_back_all
from docmill.mappings.schema import BadMapping, InvoiceMapping, Trouble

__all__ = [
    "DEFAULT",
    "BadMapping",
    "Change",
    "Emitted",
    "InvoiceMapping",
    "Profile",
    "Trouble",
    "bracketed",
    "emit",
    "emit_all",
    "load",
    "load_file",
    "names",
    "profile_mistakes",
    "profile_of",
    "read_back",
    "read_back_all",
    "value_at",
]
