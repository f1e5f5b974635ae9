"""What Everruns takes a file for, by the ending of its name, and how it has it read."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from readroom.contracts.everruns_text import RAW_BYTES
from readroom.limits_everruns import EVERRUNS_CONTENT_BYTES, EVERRUNS_OUTLINE_BYTES
from readroom.manner import Manner
from readroom.model import Kind

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
"""Endings of files that are no text, whatever is in them, unless lines of them are asked for."""

OUTLINED = (".rs", ".ts", ".mts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".py")
"""Endings of files whose outline stands below what is shown of them."""

_TEXT_ENDINGS = tuple((ending, kind.value) for kind, endings in TEXTS.items() for ending in endings)
_ALL_ENDINGS = (*_TEXT_ENDINGS, *((ending, Kind.BINARY.value) for ending in BINARY))

_PLAIN = Manner(
    line_chars=0,
    documents=False,
    unpacks=False,
    raw_images=True,
    marks=False,
    # Behind the last line there is no line feed.
    content_bytes=EVERRUNS_CONTENT_BYTES + 1,
    past_end=True,
    raw_bytes=RAW_BYTES,
    rests=False,  # its own replies say how a line goes on
)


@cache
def _manner(*, whole: bool, outlined: bool) -> Manner:
    endings = _ALL_ENDINGS if whole else _TEXT_ENDINGS
    return replace(_PLAIN, kinds=endings, outline_bytes=EVERRUNS_OUTLINE_BYTES if outlined else 0)


def manner_of(path: str, *, whole: bool) -> Manner:
    """How a file is read; `whole` unless both its first line and their number are given."""
    return _manner(whole=whole, outlined=path.lower().endswith(OUTLINED))
