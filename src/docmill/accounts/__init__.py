"""Accounts: signing in, keys for programs, sessions, and what an owner takes over."""
