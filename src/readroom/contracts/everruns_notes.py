"""Warnings about a result as sentences of the Everruns contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from readroom.contracts.native_text import warning_parts
from readroom.model import Warn

_ADVISED = frozenset({"left_out", "binary", "hash_unknown"})
"""Warnings that name an argument of the native contract behind a semicolon."""

_OTHERWISE = "notebook"
"""Natively its lines are not those that a read shows; here they are."""


def notes_of(warnings: Sequence[Warn]) -> list[str]:
    """Sentences for the field of notes."""
    return warning_parts([_plain(one) for one in warnings if one.code != _OTHERWISE])


def _plain(warn: Warn) -> Warn:
    return replace(warn, detail=warn.detail.partition(";")[0]) if warn.code in _ADVISED else warn
