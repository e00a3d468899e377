"""Invoices: read, checked by people, written as the XML that others ask for."""
