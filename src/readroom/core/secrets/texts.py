"""Texts and values on their way out: labels in the place of signs, and signs in texts that no view gave.

A value is searched as a whole: a result, an error, a part of a document.  Names of files stay, because a
call with another name finds nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.secrets.shapes import KINDS
from readroom.core.secrets.view import masked
from readroom.core.values import Warn
from readroom.core.values.files import Row

V = TypeVar("V")

_SIGN = re.compile(
    "(?:(?<![A-Z])[A-Z](?=[\0\u2400]{0,3}\x7f))?\x7f(?:[\0\u2400]{0,3}[A-Z][\0\u2400]{0,3}\x7f)*(?:[\0\u2400]{0,3}[A-Z])?"
)
"""A sign or a part of one; where a wide encoding was read as another one, with its NULs."""

_NULS = str.maketrans("", "", "\0\u2400")

LABEL = re.compile(r"\[masked: [^\]\n]{1,40}, [0-9,]+ characters?\]")
"""The form of a label, in replies and in texts that come back."""

_NAMES = frozenset({"path", "to", "destination", "folder", "source", "cursor", "next", "request", "real"})
"""Fields with names and calls."""


_LENGTHS = ("total", "chars")
"""Fields that say how long the field `text` is, or would be if it were not cut."""


def label(kind: str, size: int) -> str:
    """The label of a secret."""
    return f"[masked: {kind}, {size} character{'' if size == 1 else 's'}]"


def labelled_text(text: str, count: Counter[str] | None = None) -> str:
    """A text with labels in the place of signs, which are counted by their kinds."""
    if "\x7f" not in text:
        return text

    def of_sign(match: re.Match[str]) -> str:
        found = match.group().translate(_NULS)
        letter = next((char for char in found if char in KINDS), None)
        if letter is None or ("\x7f" + letter not in found and letter + "\x7f" not in found):
            return match.group()
        if count is not None:
            count[KINDS[letter]] += 1
        return label(KINDS[letter], len(found))

    # A search in lines with a sign alone: each capital begins a trial of the pattern.
    lines = text.split("\n")
    return "\n".join(_SIGN.sub(of_sign, line) if "\x7f" in line else line for line in lines)


def labelled(value: V, count: Counter[str] | None = None, sizes: list[int] | None = None) -> V:
    """A value with labels in the place of signs; `sizes` gets those of its texts, before and after."""

    def of_text(text: str) -> str:
        made = labelled_text(text, count)
        if sizes is not None:
            sizes.extend((len(text), len(made)))
        return made

    made: V = _mapped(value, of_text, _bytes_out)
    return made


def without_secrets(value: V) -> V:
    """A value whose texts have signs in the place of secrets: for what came from no view."""
    made: V = _mapped(value, masked_text, None)
    return made


def masked_text(text: str) -> str:
    """A text with signs in the place of secrets."""
    data = text.encode("utf-8", "surrogatepass")
    made = masked(data)
    return text if made == data else made.decode("utf-8", "surrogatepass")


def _bytes_out(data: bytes) -> bytes:
    """Bytes in which signs are nothing but asterisks: where they go no label can stand."""
    if b"\x7f" not in data:
        return data
    return re.sub(rb"(?:\x7f\0*[A-Z]\0*)+\x7f?", lambda match: re.sub(rb"[^\0]", b"*", match.group()), data)


def _mapped(
    value: Any,
    of_text: Callable[[str], str],
    of_bytes: Callable[[bytes], bytes] | None,
    *,
    named: bool = False,
) -> Any:
    """A value with its texts changed; what has none to change stays the same object."""

    def go(inner: Any, *, named: bool = False) -> Any:
        return _mapped(inner, of_text, of_bytes, named=named)

    if isinstance(value, str):
        if named or type(value) not in (str,):
            return value
        return of_text(value)
    if isinstance(value, (bytes, bytearray)):
        return value if of_bytes is None else of_bytes(bytes(value))
    if isinstance(value, Struct):
        changed = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            # The path of a row is that of a symbol, and its names are text.
            new = go(old, named=named or (name in _NAMES and not isinstance(value, Row)))
            if new is not old:
                changed[name] = new
        for name in _LENGTHS:  # a label is not as long as its secret, and nothing is cut off for that
            if "text" in changed and isinstance(getattr(value, name, None), int):
                changed[name] = getattr(value, name) + len(changed["text"]) - len(value.text)  # type: ignore[attr-defined]
        return replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        pairs = {key: go(inner, named=named) for key, inner in value.items()}
        return pairs if any(pairs[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, (list, tuple)):
        return _sequence(value, of_text, go, named=named)
    return value


def _sequence(
    value: Sequence[Any], of_text: Callable[[str], str], go: Callable[..., Any], *, named: bool
) -> Any:
    """Lines of one text are judged together."""
    if not named and len(value) > 1 and all(type(one) is str and "\n" not in one for one in value):
        lines: list[Any] = of_text("\n".join(value)).split("\n")
        made = lines if len(lines) == len(value) else [of_text(one) for one in value]
        if made == list(value):
            return value
    else:
        made = [go(one, named=named) for one in value]
        if all(new is old for new, old in zip(made, value, strict=True)):
            return value
    return tuple(made) if isinstance(value, tuple) else made


def about(count: Counter[str]) -> Warn:
    """The warning that counts and names what is masked."""
    kinds = ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in sorted(count.items()))
    total = sum(count.values())
    return Warn("masked", f"{total} place{'' if total == 1 else 's'} in this reply, by kind: {kinds}")
