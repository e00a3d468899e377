"""In which order tests run: what takes long begins first, in every pytest worker.

A worker is given the next piece of the list, and what it has not begun may be taken from its end by
one that is done. So a long test at the end of a piece would be the last of the whole run.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

# Folders by the seconds that their tests take, the longest first.
LONG: Final = (
    "stories", "browser", "properties", "processes", "documents", "web", "jobs", "accounts",
)  # fmt: skip


def deal(folders: Sequence[str], workers: int) -> list[int]:
    """The places of tests in the order to run, from the folder that each place has."""
    pieces: list[list[int]] = [[] for _ in range(workers)]
    for turn, long in enumerate(LONG):
        pieces[turn % workers] += [at for at, folder in enumerate(folders) if folder == long]
    quick = [at for at, folder in enumerate(folders) if folder not in LONG]
    size = -(-len(folders) // workers)
    for piece in pieces:
        room = max(0, size - len(piece))
        piece.extend(quick[:room])
        del quick[:room]
    return [*chain(*pieces), *quick]
