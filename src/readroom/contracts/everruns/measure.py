"""The size of what the replies of Everruns add to the things they show."""

from __future__ import annotations

from readroom.contracts.everruns import requests
from readroom.contracts.everruns import words as everruns_words
from readroom.contracts.everruns.names import Names
from readroom.core import values
from readroom.core.contracts import json_replies

_FRAME_BYTES = 640
"""Names and values of a reply's fields, with a continuation, other than paths and content."""

_PATHS = 2
"""How many times a reply has the path."""

_ENTRY_BYTES = len('"is_directory":false,"size_bytes":18446744073709551615,"is_readonly":false,')


def _line_bytes(line: values.GrepLine) -> int:
    entry: dict[str, values.Fact] = {"line_number": line.number, "line": line.text}
    return json_replies.size(entry) + len(",")


def measure(plain: Names, output: values.OutputMeasure) -> values.Measure:
    """The measure of replies with these names; kept outputs count with the longer of their spellings."""
    names = plain.today
    return values.Measure(
        frame=lambda path: _FRAME_BYTES + _PATHS * json_replies.size(names.shown(path)),
        read=values.ReadMeasure(
            numbered=lambda number: len(str(number)) + len("|\n"),
            outlined=lambda row: everruns_words.outline_row_bytes(row) + len("\n"),
            mark_bytes=0,
            content_bytes=requests.CONTENT_BYTES + 1,  # there is no line feed after the last line
        ),
        search=values.SearchMeasure(
            file=lambda file: json_replies.size(names.shown(file.path)) + len('"path":,'),
            line=_line_bytes,
            names_each=True,
            content_bytes=requests.GREP_BYTES,
        ),
        # It has its whole path, with that of the folder, which the frame counts once.
        output=output,
        list=values.ListMeasure(lambda entry: 2 * json_replies.size(names.shown(entry.path)) + _ENTRY_BYTES),
    )
