"""The version number, as a constant because asking for package metadata takes 40 ms."""

from __future__ import annotations

VERSION = "0.1.0"

CONFIG_FILE = "readroom.toml"
"""The file of settings in a root."""
