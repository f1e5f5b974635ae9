"""[otel] in the operator's file."""

from __future__ import annotations

import re
from typing import Self
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from readroom.core.config.file import Section, Switch, Text, UnusableText
from readroom.server.otel import OtelPolicy


class Endpoint(Text):
    """The address of a collector."""

    @classmethod
    def read(cls, text: str) -> Self:
        try:
            parts = urlsplit(text)
            usable = bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not text.isprintable() or re.fullmatch(r"https?://[^\s?#]+", text) is None:
            raise UnusableText("is not an HTTP address", 'Write it as "http://localhost:4318".')
        if parts.username is not None or parts.password is not None:  # not repeated: it may hold a password
            raise UnusableText("has a password in it", "Set OTEL_EXPORTER_OTLP_HEADERS for readroom instead.")
        return cls(text)


class OtelSection(Section, frozen=True):
    """[otel]."""

    enabled: Switch = UNSET
    endpoint: Endpoint | UnsetType = UNSET
    paths: Switch = UNSET

    def applied(self, before: OtelPolicy | None) -> OtelPolicy:
        """The policy with the section's values."""
        values = self.given()
        return replace(before or OtelPolicy(), **values, asked=bool(values))
