"""Chance, so that what began together does not go on in step."""

import random


def jitter(share: float = 0.2) -> float:
    """A factor around 1, by such a share smaller or larger at most."""
    return random.uniform(1 - share, 1 + share)  # noqa: S311  a die, not a secret
