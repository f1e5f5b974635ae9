"""Committed measurements; see README.md."""
