"""Receipts: signed statements about results, which verify on a machine without docmill's data."""
