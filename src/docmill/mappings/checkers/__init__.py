"""Checks of finished XML, written apart from what writes it."""
