"""Every SQL statement. Functions take a connection and never commit: the caller's block does."""
