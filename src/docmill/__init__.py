"""docmill turns documents into data, durably."""

__version__ = "0.1.0"
