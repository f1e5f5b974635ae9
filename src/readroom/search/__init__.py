"""Patterns, previews and scans, without files."""
