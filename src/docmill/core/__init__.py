"""Rules of the trade in plain Python: no I/O, no third-party import."""
