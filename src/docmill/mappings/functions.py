"""Functions that mapping files may name, of every kind of output."""

from collections.abc import Mapping
from typing import Final

from docmill.mappings.calling import Function
from docmill.mappings.coretax.names import FUNCTIONS as CORETAX
from docmill.mappings.en16931.names import FUNCTIONS as EN16931

FUNCTIONS: Final[Mapping[str, Function]] = {**CORETAX, **EN16931}
