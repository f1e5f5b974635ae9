"""What Everruns takes a file for, by the ending of its name, and how it has it read."""

from __future__ import annotations

from msgspec.structs import replace

from readroom.contracts.everruns.render import RAW_BYTES
from readroom.formats.kinds import kind_among
from readroom.limits.contracts import EVERRUNS_OUTLINE_BYTES
from readroom.values import Kind
from readroom.values.options import ReadOptions
from readroom.values.steps import Candidate, Steps

TEXTS: dict[Kind, tuple[str, ...]] = {
    Kind.MINIFIED: (".min.js", ".min.css"),
    Kind.LOG: (".log", ".out"),
    Kind.CSV: (".csv", ".tsv"),
    Kind.CONFIG: (".json", ".yaml", ".yml", ".toml"),
    Kind.TEXT: (".md", ".txt", ".rst"),
}
"""Endings in lower case; the first that fits decides."""

BINARY = tuple(
    f".{ending}"
    for ending in (
        *("wasm", "zip", "tar", "gz", "bz2", "xz", "zst", "7z", "rar", "exe", "dll", "so", "dylib", "bin"),
        *("dat", "o", "a", "pyc", "class", "woff", "woff2", "ttf", "otf", "eot", "ico", "bmp", "tiff", "tif"),
        *("psd", "mp3", "mp4", "avi", "mov", "flv", "wmv", "pdf"),
    )
)
"""Endings of files that are not text, whatever is in them, unless lines of them are asked for."""

OUTLINED = (".rs", ".ts", ".mts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".py")
"""Endings of files whose outline stands below what is shown of them."""

_TEXT_ENDINGS = tuple((ending, kind.value) for kind, endings in TEXTS.items() for ending in endings)
_ALL_ENDINGS = (*_TEXT_ENDINGS, *((ending, Kind.BINARY.value) for ending in BINARY))

_PLAIN = ReadOptions(
    line_chars=0,
    past_end="shown",
    raw_bytes=RAW_BYTES,
    rests=False,  # its own replies say how a line goes on
)


_OUTLINED = replace(_PLAIN, outline_bytes=EVERRUNS_OUTLINE_BYTES)
_NOT_OUTLINED = replace(_PLAIN, outline_bytes=0)


def options_of(path: str) -> ReadOptions:
    """What is selected of a file."""
    return _OUTLINED if path.lower().endswith(OUTLINED) else _NOT_OUTLINED


def _by_text_endings(candidate: Candidate) -> Kind:
    return kind_among(_TEXT_ENDINGS, candidate.real, candidate.plain)


def _by_all_endings(candidate: Candidate) -> Kind:
    return kind_among(_ALL_ENDINGS, candidate.real, candidate.plain)


LINES = Steps(_by_text_endings, expands=False)
"""Of a read that gives its first line and their number: whatever the name says, a text has lines."""

WHOLE = Steps(_by_all_endings, expands=False)
"""Of any other read."""
