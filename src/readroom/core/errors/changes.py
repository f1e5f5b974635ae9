"""Errors of edits and writes.

Whichever is raised, the file is as it was before the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.errors import base
from readroom.core.quoting import as_value, joined, quote
from readroom.core.values import EntryKind, Fact, ListRequest, ReadRequest
from readroom.core.values.changes import Slip


class Stale(base.ConflictError):
    """The file has changed since the state that the call names."""

    # Sentences have 12 digits of a hash, facts have all of it.
    message = "{path} has changed: expected {expected:.19}, found {found:.19}"
    path: base.Name
    expected: str  # the hash in the call, as "sha256:..."
    found: str
    _: base.KW_ONLY
    changed: str | None  # a diff between the two states; None if the expected one is no longer known
    complete: base.Aside[bool] = True  # whether the diff has all changes
    changed_at: Fact = None  # when, ISO 8601 in UTC; None if that is not known
    changed_by: Fact = None  # {agent, session}; None if that is not known
    lines: Fact = None  # where lines are that the conversation saw: [{seen, now, new}]

    def add(self, when: str, places: str, *, at: Fact, by: Fact, lines: Fact) -> None:
        """Say when it changed and by whom, and where the lines are that were seen."""
        self.changed_at, self.changed_by, self.lines = at, by, lines
        self.facts.update(changed_at=at, changed_by=by, lines=lines)
        self.message += f", {when}" if when else ""
        self.advice += f" {places}" if places else ""
        self.args = (self.message,)

    def _fill(self) -> None:
        self.detail = self.changed or ""
        self.next = self.next or ReadRequest(self.path)
        if self.changed is None:
            self.advice = "Read it again, then send the call with the new hash."
        elif self.complete:
            self.advice = "The changes are below; send the call with the new hash if it still fits."
        else:
            self.advice = "Some of the changes are below; read the file again, then use the new hash."


class AlreadyAppended(Stale):
    """The end of the file is the text that was to be appended to the state before: the call was made."""

    def _fill(self) -> None:
        self.message = (
            f"{quote(self.path)} already ends with this text: it was appended to {self.expected:.19}"
        )
        self.advice = f"Do not send it again; the next part is appended to {self.found:.19}."


class Exists(base.ConflictError, FileExistsError):
    """A file that was to be created is already there."""

    message = "{path} already exists"
    advice = "Read it first; to replace it, send its current hash as expected_hash."
    path: base.Name

    def _fill(self) -> None:
        self.next = ReadRequest(self.path)


class Vanished(base.ConflictError):
    """A file that was to be replaced is not there."""

    message = "There is no file {path}; expected {expected:.19}"
    advice = 'It was removed, renamed or never there. Send expected_hash="absent" to create it.'
    path: base.Name
    expected: str

    def _fill(self) -> None:
        self.next = ListRequest()


class NoMatch(base.ConflictError):
    """The text to be replaced is not in the file."""

    message = "edits[{edit}].old_text is not in {path}{besides}"
    advice = "{hint}"
    path: base.Name
    edit: int  # from 0
    hint: str  # why the text does not match, or the closest match
    _: base.KW_ONLY
    place: str = ""  # the most similar lines, with their numbers
    first: int | None = None  # of these lines
    last: int | None = None
    others: Sequence[int] = ()  # further edits of the call that do not match
    slip: base.Aside[Slip] = Slip()  # what is certain, of an edit that may match leniently

    def _fill(self) -> None:
        self.besides, self.detail = _others(self.others), self.place
        self.next = self.next or ReadRequest(self.path)


class ManyMatches(base.ConflictError):
    """The text to be replaced occurs in the file more than once."""

    message = "edits[{edit}].old_text is in {path} {least}{count} times, in {unit}{plural} {numbers}{besides}"
    advice = "Make it longer so that it matches one place only, or set replace_all to change them all."
    path: base.Name
    edit: int
    lines: Sequence[int]  # of the first matches
    count: int
    _: base.KW_ONLY
    exact: base.Aside[bool] = True  # False if there are more than `count`
    others: Sequence[int] = ()
    unit: base.Aside[str] = "line"  # or "cell", which the numbers then are of

    def _fill(self) -> None:
        different, more = list(dict.fromkeys(self.lines)), self.count > len(self.lines)
        self.least = "" if self.exact else "at least "
        self.plural = "s" if more or len(different) > 1 else ""
        self.numbers = ", ".join(map(str, different)) + (", ..." if more else "")
        if self.unit != "line":
            self.facts[f"{self.unit}s"] = self.facts.pop("lines")
        self.besides = _others(self.others)
        self.next = self.next or ReadRequest(self.path)


def _others(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f" (nor do these match exactly once: {', '.join(f'edits[{number}]' for number in numbers)})"


class UncertainSymbol(base.ConflictError):
    """A definition whose lines are not certain, so that it is not replaced by name."""

    message = "{path}: {name!r} in lines {first}-{last} is not changed by its name: {problem}"
    advice = "Read those lines, then send `lines` or `old_text`."
    path: base.Name
    name: str
    first: int
    last: int
    problem: str


class HashNeeded(base.ConflictError):
    """A file that is deleted, moved or copied without the hash of what is meant."""

    message = "expected_hash is missing; {path} has {found:.19}"
    advice = "If that is the file that you mean, send it."
    path: base.Name
    found: str

    def _fill(self) -> None:
        self.next = ReadRequest(self.path)


class WrongEntries(base.ConflictError):
    """A folder that has another number of names in it than the call says, at any depth."""

    message = "{path} is a folder with {names} in it, at any depth{said}"
    advice = "If all of them are meant, send entries={found}."
    path: base.Name
    expected: int | None  # None if the call does not say it
    found: int

    def _fill(self) -> None:
        self.names, self.next = _names(self.found), ListRequest(self.path)
        self.said = "" if self.expected is None else f", not {self.expected:,}"


class LargerMatch(base.ConflictError):
    """The text to be replaced is not in the file, and what is like it is much larger."""

    message = "old_text only resembles a much larger text from line {line} of {path}"
    advice = "Read the file again, and send the whole text that is to be replaced."
    path: base.Name
    line: int

    def _fill(self) -> None:
        self.next = ReadRequest(self.path, offset=self.line)


class WrongCount(base.ConflictError):
    """The caller stated how often a text would be replaced, and the number is different."""

    message = "edits[{edit}] would replace {found} place{plural} in {path}, not {expected}"
    advice = "Send count={found} if that is what you mean, or a longer old_text."
    path: base.Name
    edit: int
    expected: int
    found: int

    def _fill(self) -> None:
        self.plural = "" if self.found == 1 else "s"


class SameFile(base.UsageError):
    """Two paths of one call are one file."""

    message = "{both} are the same file"
    advice = "Send all edits of a file together."
    path: base.Name
    other: base.Name

    def _fill(self) -> None:
        self.both = joined((self.path, self.other), " and ")
        if self.path == self.other:
            self.message = f"{joined((self.path,))} is in two changes of one call"
            self.advice = "Send all edits of a file together, its other changes in another call."


class Inside(base.UsageError):
    """Two changes of one call are about a folder and something in it."""

    message = "{path} is in {folder}, which the same call changes"
    advice = "Send the two in two calls."
    path: base.Name
    folder: base.Name


class EditsFailed(base.ConflictError):
    """Some files of one call cannot be changed as requested; none was."""

    advice = "No file was changed. Fix these edits, then send all of them again."
    failures: base.Aside[Sequence[tuple[str, base.ReadroomError]]]  # by the paths as asked for

    def _fill(self) -> None:
        self.message = "; ".join(_named(path, error.message) for path, error in self.failures)
        hints = [_named(path, f"{error.advice}\n{error.detail}".rstrip()) for path, error in self.failures]
        self.detail = "\n".join(hints)
        self.facts["files"] = [
            {"path": as_value(path), "code": error.code, "facts": error.facts}
            for path, error in self.failures
        ]
        self.next = self.failures[0][1].next


def _named(path: str, sentence: str) -> str:
    """A sentence that names the file."""
    return sentence if sentence.startswith(quote(path)) else f"{quote(path)}: {sentence}"


class Overlap(base.ConflictError):
    """Two edits of one call change the same place."""

    message = "edits[{first}] and edits[{second}] overlap in line {line} of {path}"
    advice = "Join them into one edit; all edits are matched against the text before the call."
    path: base.Name
    first: int  # from 0, as the second
    second: int
    line: int  # where the second begins

    def _fill(self) -> None:
        self.facts = {"path": self.facts["path"], "edits": [self.first, self.second], "line": self.line}
        self.next = ReadRequest(self.path, offset=max(1, self.line - AROUND // 2), limit=AROUND)


AROUND = 20
"""Lines of a suggested read around a place."""


class BadPatch(base.UsageError):
    """A text that is no patch, or a patch that cannot be read."""

    message = "The patch {problem}"
    kind: str  # form, markers, empty, line or cut
    problem: base.Aside[str]
    advice: str
    _: base.KW_ONLY
    line: int | None = None  # of the patch, from 1


class NotPatched(base.RefusedError):
    """A patch asks for what no patch does here: links, modes, submodules, binary content."""

    message = "The patch has {what}, which is not applied, for {path}"
    advice = "Leave the file out of the patch, or send it as text; the user can do the rest."
    path: base.Name
    what: str


class HunkMissing(base.ConflictError):
    """The lines of a hunk are not in the file."""

    message = "hunk {hunk} does not fit {path}"
    advice = "{hint}"
    path: base.Name
    hunk: int  # from 1
    hint: str  # why it does not fit, or the closest lines
    _: base.KW_ONLY
    expected: base.Aside[str] = ""  # the old lines, or the line above the hunk that is missing
    is_anchor: base.Aside[bool] = False
    place: str = ""  # the most similar lines, with their numbers
    first: int | None = None  # of these lines
    last: int | None = None

    def _fill(self) -> None:
        self.detail = self.place
        self.next = self.next or ReadRequest(self.path)


class HunkAmbiguous(base.ConflictError):
    """A hunk fits at several places of the file."""

    message = "hunk {hunk} fits {count} places, at the lines {numbers} of {path}"
    advice = "Send it with more of the lines around it, so that it fits one place only."
    path: base.Name
    hunk: int  # from 1
    lines: Sequence[int]  # where the first of these places begin
    count: int

    def _fill(self) -> None:
        self.numbers = ", ".join(map(str, self.lines)) + (", ..." if self.count > len(self.lines) else "")
        self.next = ReadRequest(self.path, offset=max(1, self.lines[0] - AROUND // 2), limit=AROUND)


class Unencodable(base.FailedError, UnicodeError):
    """Text that the encoding of the file cannot hold."""

    message = "{path} is {encoding}, which cannot hold {char!r} (U+{number:04X}) in line {line} of {where}"
    path: base.Name
    where: str  # the argument
    char: str
    line: int  # in the argument, from 1
    encoding: str
    advice: str

    def _fill(self) -> None:
        self.number = ord(self.char)


class BrokenPlace(base.FailedError):
    """A change next to invalid bytes, or to bytes that depend on it, would alter what they decode to."""

    message = "Line {line} of {path} has bytes that are not {encoding}, which the new text would join"
    advice = "Choose old_text that keeps a character away from them, shown as \ufffd."
    path: base.Name
    line: int
    encoding: str
    _: base.KW_ONLY
    stateful: base.Aside[bool] = False  # bytes mean something only together with those before them

    def _fill(self) -> None:
        self.next = ReadRequest(self.path, offset=self.line, limit=1)
        if self.stateful:
            which = f"{quote(self.path)} is {self.encoding}, whose bytes"
            self.message = f"{which} depend on those before them; it is not edited"
            self.advice = "write_file replaces all of it, in this encoding or with encoding=utf-8."


class TooLarge(base.FailedError):
    """More than the maximum that one call may send or change."""

    message = "{what}: {size:,} {unit}, more than the {limit:,} that one call may have"
    what: base.Aside[str]
    size: int
    limit: int
    unit: str
    advice: str


class Protected(base.RefusedError):
    """Policy lets the file be read, not changed."""

    message = "{path} cannot be changed: {why}"
    advice = "Continue without changing it, or ask the user to do it."
    path: base.Name
    why: str
    _: base.KW_ONLY
    pattern: str | None = None  # of the built-in rule; None if it cannot be overridden
    exception: base.Aside[str] = ""  # the pattern with which an operator allows it, as a TOML string

    def _fill(self) -> None:
        if self.pattern is not None:
            self.advice = (
                "Continue without changing it, or ask the user to do it, or to allow it: "
                f"exceptions = [{self.exception}] under [changes] of the file given with --config."
            )


class SymbolicLink(base.RefusedError):
    """The name is a link, and policy does not let changes go through links."""

    message = "{path} is a symbolic link to {target}"
    advice = "Changes do not follow links; change {target} itself."
    path: base.Name
    target: base.Name | None  # the file in the workspace that it leads to, if any

    def _fill(self) -> None:
        if self.target is not None:
            self.next = ReadRequest(self.target)
        else:
            self.message = f"{quote(self.path)} is a symbolic link that leads to no file here"
            self.advice, self.next = "Change another file.", ListRequest(_folder(self.path))


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


class ReadOnlyFile(base.FailedError, PermissionError):
    """The file's mode or attribute lets no user, or not this process, write to it."""

    message = "{path} is write-protected ({why})"
    advice = "Ask the user to make it writable, or write to another file."
    path: base.Name
    mode: int
    _: base.KW_ONLY
    immutable: base.Aside[bool] = False

    def _fill(self) -> None:
        self.facts["mode"] = mode = f"{self.mode:04o}"
        self.why = "by its immutable attribute, lsattr shows it" if self.immutable else f"mode {mode}"


class ReadOnlyPlace(base.FailedError, OSError):
    """The file system or store is read-only."""

    message = "{path} is on a file system that is mounted read-only"
    advice = "Nothing can be changed there; ask the user for another place."
    path: base.Name


class NoSpace(base.FailedError, OSError):
    """The disk or the quota is full."""

    message = "{path} was not changed: {problem}"
    advice = "Ask the user to free some space, then send the call again."
    path: base.Name
    problem: str


# -----------------------------------------------------------------------------
# Errors of deleting and moving files and folders.
# -----------------------------------------------------------------------------


class HoldsDenied(base.RefusedError):
    """A folder with names in it that policy denies: they are not removed or moved with it."""

    message = "{path} holds {names} that policy denies, so it stays where it is"
    advice = "Change the visible entries in it one by one, or ask the user to do it."
    path: base.Name
    denied: int  # how many; not which ones

    def _fill(self) -> None:
        self.names, self.next = _names(self.denied), ListRequest(self.path)


class FolderNotEmpty(base.ConflictError, OSError):
    """A folder that was to be removed alone is not empty."""

    message = "{path} is a folder with {names} in it"
    advice = "Delete those first, or ask to delete the folder with everything in it."
    path: base.Name
    entries: int

    def _fill(self) -> None:
        self.names, self.next = _names(self.entries), ListRequest(self.path)


class Taken(base.ConflictError, FileExistsError):
    """The new name of something already belongs to another file or folder."""

    message = "{path} already exists ({kind.value})"
    advice = "Choose another name, or move or delete the existing one first{replace}."
    path: base.Name
    kind: EntryKind
    _: base.KW_ONLY
    replaceable: bool = False  # the call may ask for it to be replaced

    def _fill(self) -> None:
        self.facts["kind"] = self.kind.value
        self.replace = "; overwrite replaces a file" if self.replaceable else ""
        if self.kind is EntryKind.FILE:
            self.next = ReadRequest(self.path)
        else:
            self.next = ListRequest(self.path if self.kind is EntryKind.FOLDER else _folder(self.path))


class PartlyDeleted(base.FailedError):
    """A folder was removed in part before something failed."""

    message = "{path} is still there; deleted in it: {names}. Then: {why}"
    advice = "See what is left, then send the call again or ask the user."
    path: base.Name
    removed: int  # names that are gone
    why: str

    def _fill(self) -> None:
        self.names, self.next = _names(self.removed), ListRequest(_folder(self.path))


def _names(count: int) -> str:
    return f"{count:,} name{'' if count == 1 else 's'}"
