"""What a search could not look into, so that nobody takes its result for the whole."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.engine.grep_scope import join_below
from readroom.engine.grep_search import Searcher
from readroom.engine.listing_cursor import path_key
from readroom.formats.recognise import reads_as_cells
from readroom.model import GrepFile, GrepRequest, Warn
from readroom.paths import WorkPath
from readroom.quoting import quote

_NAMED = 3
"""Files that a warning names; more are counted."""


def warnings_of(
    request: GrepRequest, unreadable: Sequence[str], searcher: Searcher, files: Sequence[GrepFile]
) -> list[Warn]:
    """The warnings of a search that shows `files`; `unreadable` are relative to its path."""
    found = []
    if unreadable:
        top = WorkPath(request.path)
        whole = [top if name == "." else join_below(top, name) for name in sorted(unreadable, key=path_key)]
        found.append(Warn("unreadable", f"{_names(whole)} cannot be read"))
    cells = next((file.path for file in files if reads_as_cells(file.path)), None)
    if cells is not None and not request.documents and request.output == "content":
        how = "read them with encoding utf-8, or search with documents"
        found.append(Warn("notebook", f"lines of {quote(cells)} are those of its JSON: {how}"))
    if searcher.too_wide:
        names = _names(searcher.too_wide)
        found.append(Warn("too_large", f"{names}: too large to be searched in UTF-16; read_file reads them"))
    if searcher.as_bytes:
        detail = (
            f"{_names(searcher.as_bytes)}: too large to be searched in an encoding other than UTF-8, "
            "so only what is ASCII was found; read_file reads them"
        )
        found.append(Warn("searched_as_bytes", detail))
    return found


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(map(quote, paths[:_NAMED])) + (f" and {more} more" if more > 0 else "")
