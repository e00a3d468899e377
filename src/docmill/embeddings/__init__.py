"""Texts into vectors that lie near each other where the texts mean the same."""
