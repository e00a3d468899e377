"""Reads any document: as an invoice, as a trade note, or as what it is."""
