"""The methods of a workspace that make one call each, as editors and type checkers know them.

A method takes what its tool takes: `keywords` has the options as types, `plain` and `awaited` have the
methods without and with `await`.  These three are written from the tools.  `following` makes the calls
that continue a reply.

Knows: names, types and words of arguments.
Does not know: how a call is performed.
May be touched: `following` freely; the others by `scripts/methods.py`, which has their names and first words
and which `python -m scripts.docs` runs; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def sent(options: Mapping[str, object], **named: object) -> dict[str, Any]:
    """The arguments of a call as JSON has them: lists for tuples, and nothing that was left out."""
    every = {name: value for name, value in named.items() if value is not None} | dict(options)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in every.items()}
