"""Tells owners' own servers what happens to their documents, signed and at least once."""
