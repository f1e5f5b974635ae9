"""What the ledger keeps of a call's arguments: never content, nothing of hostile size.

Names, patterns and commands are what an auditor needs and are kept.  Texts that
go into files, and any text under a name that is not known, stand as their length
and hash.  The hash of a short text can be guessed by trying; whoever may read the
ledger can do so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from math import isfinite

from readroom.contracts.native_calls import arguments as told
from readroom.limits_keeping import LEDGER_ARGUMENTS, LEDGER_DEPTH, LEDGER_TEXT_CHARS
from readroom.model import Fact, Request

KEPT = frozenset(
    (
        *("path", "pattern", "glob", "type", "output", "include", "sort", "cursor", "encoding", "pages"),
        *("symbol", "view", "known_hash", "expected_hash", "cwd", "command", "destination"),
    )
)
"""Arguments whose text is kept; of every other text only the length and the hash."""


def of_request(request: Request, hide: Collection[str] = ()) -> str:
    """The arguments of a request that was understood, in the native names, as a JSON object."""
    return _encoded(told(request), hide)


def of_anything(arguments: object, hide: Collection[str] = ()) -> str:
    """Arguments that were not understood; they may be anything."""
    if not isinstance(arguments, Mapping):
        return _encoded({"": _reduced("", arguments, hide, 0)}, hide)
    return _encoded(arguments, hide)


def _encoded(arguments: Mapping[str, Fact], hide: Collection[str]) -> str:
    return json.dumps(_reduced_object(arguments, hide, 0), separators=(",", ":"))


def _reduced_object(found: Mapping[str, object], hide: Collection[str], depth: int) -> dict[str, Fact]:
    kept: dict[str, Fact] = {}
    for name, value in list(found.items())[:LEDGER_ARGUMENTS]:
        kept[_short_name(str(name))] = _reduced(str(name), value, hide, depth)
    if len(found) > LEDGER_ARGUMENTS:
        kept["..."] = len(found) - LEDGER_ARGUMENTS
    return kept


def _short_name(name: str) -> str:
    """An unknown argument's name could be content, too."""
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}..."


_NAME_CHARS = 40
"""No argument of a contract has a longer name."""


def _reduced(name: str, value: object, hide: Collection[str], depth: int) -> Fact:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "a number beyond 64 bits"
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(name, value, hide)
    if depth >= LEDGER_DEPTH:
        return "nested more deeply"
    if isinstance(value, Mapping):
        return _reduced_object(value, hide, depth + 1)
    if isinstance(value, Sequence):
        kept = [_reduced(name, one, hide, depth + 1) for one in value[:LEDGER_ARGUMENTS]]
        return kept if len(value) <= LEDGER_ARGUMENTS else [*kept, f"and {len(value) - len(kept)} more"]
    return type(value).__name__


def _text(name: str, text: str, hide: Collection[str]) -> Fact:
    if name in KEPT and name not in hide and len(text) <= LEDGER_TEXT_CHARS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    found: dict[str, Fact] = {"chars": len(text), "sha256": digest}
    if name in KEPT and name not in hide:
        found["start"] = text[:LEDGER_TEXT_CHARS]
    return found
