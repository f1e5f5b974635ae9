"""Tests of the history: what is kept of changes, and how they are taken back."""
