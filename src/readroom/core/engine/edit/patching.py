"""Change files as a patch says: each of its sections in the names of one call.

Sections are applied in order, each to what those before it made; a copy is made of what its source was before
the call, as in git.

Knows: what each action of a patch does to names, and how its failures are worded.
Does not know: how names are found, locked and written (`names`), and where hunks fit (`text.patches`).
May be touched: with the corpus of patches (`scripts/patch_corpus.py`).
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import require_editable
from readroom.core.engine.edit.forms import form_of
from readroom.core.engine.edit.names import HeldName, Names
from readroom.core.limits import HEAD_BYTES
from readroom.core.quoting import quote
from readroom.core.text import encodings
from readroom.core.text.edits.diff import between
from readroom.core.text.edits.splice import NotEncodable, encode
from readroom.core.text.edits.suggest import closest
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.text.patches.applying import Applied, NotHeld, Unjoinable, applied
from readroom.core.text.patches.fitting import ManyFits, NoFit
from readroom.core.values import EntryKind
from readroom.core.values.changes import Diff, DiffStyle
from readroom.core.values.patches import FilePatch, Fitting, PatchHunk, PatchLine

CLOSEST_CHARS = 4 * 1024 * 1024
"""How much of a file is compared with a hunk that does not fit."""


class Room(Struct, frozen=True):
    """How a diff is shown, and in how many bytes at most."""

    bytes: int
    style: DiffStyle


class Section(Struct):
    """A section of a patch with its names; `to` is that of the result, None for a deletion."""

    file: FilePatch
    name: HeldName
    to: HeldName | None = None
    previous: bytes | None = None
    content: bytes | None = None
    diff: Diff = Diff()


def found(names: Names, file: FilePatch, change: int) -> Section:
    """The section with its names found; `change` is its number in the call.

    Raises:
        NotPatched: It asks for what is never done.
        Denied, Protected, ...: From finding the names.
    """
    if file.problem is not None:
        raise file.problem
    if file.unsupported:
        raise errors.NotPatched(file.path, file.unsupported)
    name = names.find(file.path, change, again=True)
    if file.action == "delete":
        return Section(file, name)
    if file.destination is None:
        return Section(file, name, name)
    respelled = name if file.action == "move" else None
    return Section(file, name, names.find(file.destination, change, again=True, respelled=respelled))


def patch(names: Names, section: Section, room: Room, deadline: Deadline) -> None:
    """Apply a section to the names of a call.

    Raises:
        NotFound, Exists, Taken: The files are not what it takes them for.
        HunkMissing, HunkAmbiguous: A hunk does not fit.
        Binary, BrokenPlace, Unencodable, TooLarge, BadValue: The file cannot be changed so.
        Stale: A file to be deleted has more than the patch removes.
    """
    file, to = section.file, section.to
    if file.action == "add":
        _add(names, section)
        return
    section.previous = before = _before(names, section)
    result = Applied("", "", before)
    if file.hunks:
        result = _applied(section.name, before, file, deadline)
        section.diff = between(result.old, result.new, room.bytes, room.style)
    if to is None:
        _require_all(section, result)
        section.name.after = None
        return
    _require_readable(section.name, before, result.data)
    if to is not section.name:
        _require_free(names, section, to)
        to.mode = section.name.found.mode & 0o777 if section.name.found is not None else to.mode
        if file.action == "move":
            names.move(section.name, to)
    section.content = result.data
    names.put(to, result.data)


def _before(names: Names, section: Section) -> bytes:
    """The content that a section begins with. Raises NotFound."""
    data = names.content(section.name)
    if section.file.action == "copy":
        data = section.name.before
    if data is None:
        raise errors.NotFound(section.name.path)
    return data


def _add(names: Names, section: Section) -> None:
    name = section.name
    section.previous = names.content(name)
    if section.previous is not None and not section.file.overwrites:
        raise errors.Exists(name.path)
    section.content = _new(name, section.file)
    names.put(name, section.content)


def _new(name: HeldName, file: FilePatch) -> bytes:
    content = file.content or ""
    if file.raw:
        return content.encode("utf-8", "surrogateescape")
    try:
        return encode(content, UTF8)
    except NotEncodable as problem:
        line = content.count("\n", 0, problem.index) + 1
        advice = "Use characters that it has."
        raise errors.Unencodable(name.path, "the patch", problem.char, line, UTF8.name, advice) from None


def _require_free(names: Names, section: Section, to: HeldName) -> None:
    if to.place.real == section.name.place.real:
        return  # another spelling of the name
    if names.content(to) is not None and not section.file.overwrites:
        raise errors.Taken(to.path, EntryKind.FILE)


def _require_all(section: Section, result: Applied) -> None:
    """Raise HunkMissing if a file that is to be deleted has more than a diff removes."""
    if section.file.hunks and result.data:
        hint = "The file has more lines than the patch removes; read it, then send the patch for all of it."
        raise errors.HunkMissing(section.name.path, 1, hint)


def _require_readable(name: HeldName, before: bytes, after: bytes) -> None:
    """Raise BadValue if a file that is shown otherwise than it is stored could no longer be read."""
    form = form_of(name.place.real)
    if form is not None and form.is_valid(before) and not form.is_valid(after):
        problem = f"would leave {quote(name.path)} invalid {form.name}: a patch changes what is stored"
        raise errors.BadValue("patch", quote(name.path), problem, f"Send what {form.name} allows.")


def _applied(name: HeldName, before: bytes, file: FilePatch, deadline: Deadline) -> Applied:
    encoding = _encoding(name, before)
    try:
        return applied(before, encoding, file, deadline)
    except NoFit as none:
        raise _missing(name.path, before, encoding, none, file.fitting) from None
    except ManyFits as many:
        raise errors.HunkAmbiguous(name.path, many.number, many.lines, many.count) from None
    except Unjoinable as place:
        raise errors.BrokenPlace(name.path, place.line, encoding.name) from None
    except NotHeld as lack:
        advice = "Use characters that it has."
        raise errors.Unencodable(
            name.path, "the changed file", lack.char, lack.line, encoding.name, advice
        ) from None


def _encoding(name: HeldName, before: bytes) -> Encoding:
    sample = before[:HEAD_BYTES]
    encoding = encodings.detect(sample, complete=len(sample) == len(before))
    if name.source is None:
        return encoding or UTF8  # the call itself has made it
    return require_editable(name.path, name.source, sample, encoding, "Only text can be patched.")


# --- why a hunk does not fit ------------------------------------------------------------------------


def _missing(
    path: str, before: bytes, encoding: Encoding, none: NoFit, fitting: Fitting
) -> errors.HunkMissing:
    hunk = none.hunk
    if none.anchor is not None:
        hint = f"Its line {quote('@@ ' + none.anchor)} is no line of the file; use a whole one that is there."
        return errors.HunkMissing(path, none.number, hint, expected=none.anchor, is_anchor=True)
    expected = "\n".join(line.text for line in hunk.old)
    if not hunk.old and fitting.adds_at_line:
        total = before.count(encoding.newline) + (not before.endswith(encoding.newline))
        advice = f"The file has {total} lines; 0 is in front of the first."
        raise errors.BadRange(f"There is no line {hunk.first}", advice, total_lines=total)
    if not hunk.old:
        hint = "It has new lines only, which could be anywhere: send it with some of the lines around them."
        return errors.HunkMissing(path, none.number, hint)
    if none.before is not None:
        hint = f"Its lines are at line {none.before}, in front of the hunk above: send hunks in order."
        return errors.HunkMissing(path, none.number, hint, expected=expected, first=none.before)
    text = encodings.decode(before[len(encoding.bom) :], encoding)[:CLOSEST_CHARS].replace("\r\n", "\n")
    if _lacks_remark(text, hunk):
        hint = "The last line of the file has no line end: write `\\ No newline at end of file` below it."
        return errors.HunkMissing(path, none.number, hint, expected=expected)
    near = closest(text, _text(hunk.old), _text(hunk.new))
    hint = near.hint.replace("old_text", "the hunk").replace("new text", "result of the hunk")
    return errors.HunkMissing(
        path, none.number, hint, expected=expected, place=near.shown, first=near.first, last=near.last
    )


def _lacks_remark(text: str, hunk: PatchHunk) -> bool:
    """Whether the hunk fits at the end of the file but for the line end that the file does not have."""
    if text.endswith("\n") or hunk.old[-1].end is None:
        return False
    whole = _text([*hunk.old[:-1], replace(hunk.old[-1], end="")])
    return text == whole or text.endswith(f"\n{whole}")


def _text(lines: list[PatchLine]) -> str:
    return "".join(f"{line.text}{'' if line.end == '' else chr(10)}" for line in lines)
