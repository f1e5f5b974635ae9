"""Jupyter notebooks (.ipynb, format 3 and 4): source of cells, outputs as text, images in outputs.

A notebook is JSON that any program may have written: values of a wrong type are ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, final

from readroom.core.quoting import joined
from readroom.documents.formats import (
    BESIDE_CHARS,
    Area,
    Count,
    Document,
    Heading,
    Part,
    Picture,
    Unit,
    Unreadable,
    omission_note,
    told,
)
from readroom.documents.formats.legible import legible

MAX_BYTES = 40 * 1024 * 1024
"""Largest notebook: in memory it takes up to four times that. Nearly all have less than 1 MB."""

MAX_HEADINGS = 2000

OUTPUT_LINES = 20
"""Lines of output that are shown of a cell among others."""

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/markdown", "text/plain", "text/latex", "application/json", "text/html")
"""In the order in which one of an output's forms is chosen."""

_CODED = ("image/", "application/pdf", "application/octet-stream", "audio/", "video/")
"""Types whose forms are bytes, in base64."""

_TYPES, _TYPE_CHARS = 3, 60
"""Types of an output that is not shown, as far as they are named."""

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours in tracebacks."""

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\Z")


@final
class Notebook:
    """An opened notebook."""

    unit = Unit.CELL

    def __init__(self, cells: Sequence[Mapping[str, Any]]) -> None:
        self._cells = cells
        self.titles = [""] * len(cells)
        self.contents = _contents(cells)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The cell with this number."""
        cell = self._cells[number - 1]
        lines = _lines(cell.get("source", cell.get("input")))
        pictures: list[Picture] = []
        notes: list[str] = []
        outputs: list[str] = []
        notes += _attachments(cell, pictures)
        others: dict[str, list[object]] = {}
        alone: dict[str, list[object]] = {}
        for output in _objects(cell.get("outputs")):
            outputs += _output(output, pictures, alone, others)
        if alone:
            which = "An output of type" if len(alone) == 1 else "Outputs of types"
            verb = "is" if len(alone) == 1 else "are"
            notes.append(_count(f"{which} {joined(_named(alone))} {verb} not shown.", alone))
        if others:
            notes.append(
                _count(f"Other forms of its outputs are not shown: {joined(_named(others))}.", others)
            )
        if not outputs:
            return Part(number, _title(cell), lines, pictures, notes=notes)
        brief = len(lines) + 1 + OUTPUT_LINES
        whole = [*lines, "[output]", *outputs]
        return Part(number, _title(cell), whole, pictures, notes=notes, brief=brief)

    def source(self, number: int) -> Part:
        """The cell with this number without its outputs."""
        cell = self._cells[number - 1]
        return Part(number, _title(cell), _lines(cell.get("source", cell.get("input"))))


def open_document(file: BinaryIO) -> Notebook:
    """Open a notebook. Raises Unreadable."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"it is larger than {MAX_BYTES:,} bytes",
            "Read it as plain text with `encoding` set to utf-8, or ask for a copy without outputs.",
        )
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        raise Unreadable(
            "it is not notebook JSON", "Read it as plain text with `encoding` set to utf-8."
        ) from None
    cells = _cells(notebook)
    if cells is None:
        raise Unreadable("it has no list of cells", "Read it as plain text with `encoding` set to utf-8.")
    return Notebook(cells)


def _cells(notebook: object) -> list[Mapping[str, Any]] | None:
    if not isinstance(notebook, dict):
        return None
    if isinstance(notebook.get("cells"), list):
        return _objects(notebook["cells"])
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in _objects(sheets) for cell in _objects(sheet.get("cells"))]


def _objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; other items become empty objects, so that numbers stay the same."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _title(cell: Mapping[str, Any]) -> str:
    """Its kind and, of code that was run, the number of the run."""
    count = cell.get("execution_count", cell.get("prompt_number"))
    run = f" [{count}]" if isinstance(count, int) and not isinstance(count, bool) else ""
    kind = cell.get("cell_type")
    return (kind[:40] if isinstance(kind, str) else "") + run


def _text(value: object) -> str:
    """A text, which notebooks may also write as a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(piece for piece in value if isinstance(piece, str))
    return ""


def _lines(value: object) -> list[str]:
    text = _text(value).replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def _contents(cells: Sequence[Mapping[str, Any]]) -> list[Heading]:
    """The headings of the Markdown cells."""
    headings: list[Heading] = []
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "heading":
            level = cell.get("level")
            headings.append(
                Heading(level if isinstance(level, int) else 1, _text(cell.get("source")), number)
            )
        if cell.get("cell_type") == "markdown":
            matches = (_HEADING.match(line) for line in _outside_fences(_lines(cell.get("source"))))
            headings += [Heading(len(match[1]), match[2], number) for match in matches if match]
        if len(headings) > MAX_HEADINGS:
            break
    return headings[:MAX_HEADINGS]


def _outside_fences(lines: Sequence[str]) -> Iterator[str]:
    fenced = False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield line


def _attachments(cell: Mapping[str, Any], pictures: list[Picture]) -> list[str]:
    """The pictures embedded in a cell's text; a sentence about its other attachments."""
    attached = cell.get("attachments")
    others: Counter[str] = Counter()
    for name, forms in attached.items() if isinstance(attached, dict) else ():
        mime = next((mime for mime in _IMAGES if isinstance(forms, dict) and mime in forms), None)
        picture = None if mime is None else _picture(forms[mime], mime)
        if picture is None:
            lines = [line for kind, value in _object(forms).items() for line in _form_lines(kind, value)]
            others[told("attached file", "\n".join((str(name), *lines)))] += 1
        else:
            pictures.append(picture)
    return omission_note(others)


def _output(
    output: Mapping[str, Any],
    pictures: list[Picture],
    alone: dict[str, list[object]],
    others: dict[str, list[object]],
) -> list[str]:
    """The lines of one output; its image goes to `pictures`.

    Its forms that are not shown go to `others` or, if none of it is, to `alone`.
    """
    kind = output.get("output_type")
    if kind == "stream":
        return _plain(output.get("text"))
    if kind in ("error", "pyerr"):
        trace = output.get("traceback")
        if isinstance(trace, list) and trace:
            return _plain("\n".join(piece for piece in trace if isinstance(piece, str)))
        return [f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"]
    data = output.get("data")
    forms = data if isinstance(data, dict) else _old_forms(output)
    image = next((mime for mime in _IMAGES if mime in forms), None)
    if image is not None and (picture := _picture(forms[image], image)):
        pictures.append(picture)
        _add(others, {mime: forms[mime] for mime in forms if mime != image and not _is_stand_in(forms, mime)})
        return []
    for mime in _TEXTS:
        if mime in forms:
            value = forms[mime]
            _add(others, {other: forms[other] for other in forms if other != mime})
            return _plain(json.dumps(value) if mime == "application/json" else value)
    _add(alone, forms)
    return []


def _add(to: dict[str, list[object]], forms: Mapping[str, object]) -> None:
    for mime, value in forms.items():
        to.setdefault(str(mime), []).append(value)


def _count(sentence: str, forms: Mapping[str, Sequence[object]]) -> Count:
    """A note about forms, with the text of each; of an image or another form in bytes its size."""
    lines: list[str] = []
    for mime, values in forms.items():
        for value in values:
            lines += [f"[{mime[:_TYPE_CHARS]}]", *_form_lines(mime, value), f"[end of {mime[:_TYPE_CHARS]}]"]
    return Count(sentence, lines, is_bare=False)


def _form_lines(mime: str, value: object) -> list[str]:
    text = _text(value)
    if mime.startswith(_CODED) and not mime.endswith("+xml"):
        with suppress(ValueError):  # also of base64
            return legible(base64.b64decode(text))
    whole = text or json.dumps(value, ensure_ascii=False)
    left = len(whole) - BESIDE_CHARS
    more = [f"({left:,} more characters are not shown)"] if left > 0 else []
    return [*_plain(whole[:BESIDE_CHARS]), *more]


def _named(forms: Iterable[str]) -> list[str]:
    """The first of its types; a notebook may say anything there."""
    return [form if len(form) <= _TYPE_CHARS else f"{form[:_TYPE_CHARS]}…" for form in sorted(forms)[:_TYPES]]


def _is_stand_in(forms: Mapping[str, Any], mime: str) -> bool:
    """Whether a form is the name of an object, `<Figure size 640x480>`, in place of its picture."""
    return mime == "text/plain" and _text(forms[mime]).strip().startswith("<")


def _old_forms(output: Mapping[str, Any]) -> dict[str, Any]:
    """Format 3 has all forms of an output in one mapping, with short names."""
    short = {"png": "image/png", "jpeg": "image/jpeg", "text": "text/plain", "html": "text/html"}
    return {mime: output[name] for name, mime in short.items() if name in output}


def _plain(value: object) -> list[str]:
    """Lines as a terminal would leave them: without colours, of a progress bar the last state."""
    lines = _lines(_ESCAPES.sub("", _text(value)))
    return [line.rstrip("\r").rpartition("\r")[2] for line in lines]


def _picture(value: object, mime: str) -> Picture | None:
    try:
        return Picture(base64.b64decode(_text(value)), mime)
    except (ValueError, binascii.Error):
        return None


@final
class NotebookText:
    """An opened notebook as text alone: the source of its cells, without outputs."""

    def __init__(self, whole: Notebook) -> None:
        self._whole = whole
        self.unit = whole.unit
        self.titles = whole.titles
        self.contents = whole.contents

    def part(self, number: int, area: Area | None = None) -> Part:
        """The source of the cell with this number."""
        return self._whole.source(number)


def open_source(file: BinaryIO) -> Document:
    """Open a notebook as text alone. Raises Unreadable."""
    return NotebookText(open_document(file))
