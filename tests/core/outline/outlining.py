"""Outlines of fixtures, and what must hold for any outline of any file."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

from readroom.core.deadline import Deadline
from readroom.core.limits.outline import OUTLINE_NAME_CHARS, OUTLINE_SIGNATURE_CHARS
from readroom.core.outline import build
from readroom.core.outline.languages import language_of
from readroom.core.values.files import Item, Outline, rows

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = sorted(path for path in FIXTURES.iterdir() if path.suffix != ".outline")


def text_of(path: Path) -> str:
    """As the engine decodes it: no line end is changed."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def outline_of(path: Path, text: str | None = None, seconds: float = 60) -> Outline:
    text = text_of(path) if text is None else text
    language = language_of(str(path), text)
    assert language is not None, path
    return build(text, language, Deadline(seconds))


def drawn(outline: Outline) -> str:
    """An outline as the expected ones are written: span, line of the signature, kind, name, signature."""
    found = [f"{outline.language}{'' if outline.partial is None else ': ' + outline.partial}"]
    for row in rows(outline.items):
        item = row.item
        names = ".".join([*item.owner, item.name])
        place = f"{item.start}-{item.end}" + (f" @{item.line}" if item.line != item.start else "")
        found.append(f"{'  ' * row.depth}{place} {item.kind} {names} | {item.signature}")
    return "\n".join(found) + "\n"


def check(outline: Outline, text: str) -> None:
    """Spans lie within the file and within each other, in order; signatures stand in their lines."""
    lines = text.split("\n")
    told = [lines]
    if outline.language == "html":  # a heading is told without the tags and entities in it
        plain = re.sub(r"<[^<>]*>", lambda tag: "\n" * tag[0].count("\n"), text)
        told.append([html.unescape(line) for line in plain.split("\n")])
    _check_items(outline.items, told, 1, len(lines))


def _check_items(items: Sequence[Item], told: Sequence[Sequence[str]], first: int, last: int) -> None:
    at = first
    for item in items:
        assert at <= item.start <= item.line <= item.end <= last, item
        assert item.name
        assert len(item.name) <= OUTLINE_NAME_CHARS
        assert len(item.signature) <= OUTLINE_SIGNATURE_CHARS + OUTLINE_NAME_CHARS
        assert "\n" not in item.signature
        below = "".join("".join(lines[item.line - 1 : item.line + 9]) for lines in told)
        start = re.sub(r"\s", "", item.signature.rstrip("…"))[:8].lstrip("#")
        assert start[:4] in re.sub(r"\s", "", below), item
        _check_items(item.members, told, item.start, item.end)
        at = item.start
