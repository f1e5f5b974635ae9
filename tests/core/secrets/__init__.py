"""Secrets masked."""
