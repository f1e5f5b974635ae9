"""What a search could not look into, so that nobody takes its result for the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from readroom.engine.grep_left import named
from readroom.engine.grep_scope import join_below
from readroom.engine.grep_search import Searcher
from readroom.engine.grep_symbols import Symbols
from readroom.engine.listing_cursor import path_key
from readroom.formats.recognise import reads_as_cells
from readroom.limits import MAX_WARNINGS
from readroom.model import GrepFile, GrepRequest, Include, Warn
from readroom.paths import WorkPath
from readroom.quoting import quote
from readroom.text import hidden


def warnings_of(
    request: GrepRequest,
    unreadable: Sequence[str],
    searcher: Searcher,
    files: Sequence[GrepFile],
    symbols: Symbols | None,
) -> list[Warn]:
    """The warnings of a search that shows `files`; `unreadable` are relative to its path."""
    found = []
    if unreadable:
        top = WorkPath(request.path)
        whole = [top if name == "." else join_below(top, name) for name in sorted(unreadable, key=path_key)]
        found.append(Warn("unreadable", f"{named(whole)} cannot be read"))
    cells = next((file.path for file in files if reads_as_cells(file.path)), None)
    if cells is not None and not request.documents and request.output == "content":
        how = "read them with encoding utf-8, or search with documents"
        found.append(Warn("notebook", f"lines of {quote(cells)} are those of its JSON: {how}"))
    if searcher.too_wide:
        names = named(searcher.too_wide)
        found.append(Warn("too_large", f"{names}: too large to be searched in UTF-16; read_file reads them"))
    if searcher.as_bytes:
        detail = (
            f"{named(searcher.as_bytes)}: too large to be searched in an encoding other than UTF-8, "
            "so only what is ASCII was found; read_file reads them"
        )
        found.append(Warn("searched_as_bytes", detail))
    if symbols is not None and symbols.gave_up:
        found.append(Warn("no_symbols", "time did not suffice for the symbols of all files"))
    return found


def linked(names: Mapping[str, int]) -> list[Warn]:
    """That some of the shown files have several names, with how many each has."""
    if not names:
        return []
    found = named(list(names))
    several = f" has {next(iter(names.values()))} names" if len(names) == 1 else ": several names each"
    return [Warn("hard_link", f"{found}{several}")]


def hidden_in(files: Sequence[GrepFile]) -> list[Warn]:
    """What is hidden in the lines that are shown, in the words of `text.hidden`, with the file it is in."""
    shown = [(file, line) for file in files for line in file.lines]
    if not hidden.scan([line.text for _, line in shown], 1, limit=1):
        return []
    found = [
        Warn(warn.code, f"{quote(file.path)}: {warn.detail}", warn.line, warn.column)
        for file, line in shown
        for warn in hidden.scan([line.text], line.number, limit=MAX_WARNINGS, first_column=line.column)
    ]
    rest = len(found) - MAX_WARNINGS
    more = f"{rest} more about hidden characters in the lines shown"
    return [*found[:MAX_WARNINGS], Warn(hidden.MORE, more)] if rest > 0 else found


def left_out(request: GrepRequest) -> list[Warn]:
    """Kinds of files that a search that found nothing did not look into."""
    # Compressed files are counted where there are any.
    kinds = [kind for kind in get_args(Include) if kind not in request.include and kind != "compressed"]
    if not kinds:
        return []
    return [Warn("left_out", f"{', '.join(kinds)} files were not searched; include searches them")]
