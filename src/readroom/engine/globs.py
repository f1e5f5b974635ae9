"""How the globs of a call are meant in a workspace: paths and names that are written as globs.

Globs are relative to the folder of the call.  Callers also write an absolute path below the root, a path
that begins with the folder of the call, `\\` between folders, and names that hold brackets or braces.
If the workspace has the file or folder that such a glob names, the glob means it; otherwise it is unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from readroom.errors import ReadroomError
from readroom.paths import ROOT, WorkPath, join
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.values import EntryKind, Warn

_BRACKETS = re.compile(r"[\[{]")
_SPECIAL = re.compile(r"([\\*?\[\]{}!#])")
_WILD = frozenset("*?")
_MAGIC = frozenset("*?[{\\")


def globs_in(guard: Guard, folder: str, globs: Sequence[str]) -> tuple[str, ...]:
    """The globs of a call for a folder, in the form in which they are matched."""
    meant = [_meant(guard, WorkPath(folder), glob) if _is_doubtful(glob) else glob for glob in globs]
    return tuple(spelling for glob in meant for spelling in _composed(glob))


def _composed(glob: str) -> Iterable[str]:
    """The glob in each Unicode composition that names may have; a set of characters stays as it is."""
    if glob.isascii() or _BRACKETS.search(glob):
        return (glob,)
    return dict.fromkeys((glob, unicodedata.normalize("NFC", glob), unicodedata.normalize("NFD", glob)))


def reading_of(guard: Guard, folder: str, globs: Sequence[str]) -> Iterator[Warn]:
    """How the globs of a call that matched nothing were read, where another reading is likely."""
    for glob in globs_in(guard, folder, globs):
        plain = glob.removeprefix("!")
        if re.search(r"(?<!\\)\[", plain):
            yield Warn("glob_reading", f"{quote(glob)}: brackets are sets of characters; \\[ is a bracket")
        elif plain.startswith(("/", "../", "~")):
            place = join(WorkPath(folder), plain.removeprefix("/"))
            yield Warn("glob_reading", f"looked for {quote(place)} below the workspace root")
        elif "\\" in plain and "/" not in plain:
            yield Warn(
                "glob_reading",
                f"{quote(glob)}: a backslash only makes a character plain",
            )
        elif not _MAGIC & set(plain) and _kind(guard, WorkPath(folder), plain) is EntryKind.FOLDER:
            yield Warn("glob_reading", f"{quote(glob)} is a folder; {quote(f'{plain}/**')} is what is in it")


def _is_doubtful(glob: str) -> bool:
    return "/" in glob or "\\" in glob or _BRACKETS.search(glob) is not None


def _meant(guard: Guard, folder: WorkPath, glob: str) -> str:
    sign, text = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    text = _with_slashes(guard, folder, text)
    while text.startswith("./"):
        text = text[1:] if text[2:3] not in ("/", ".") else text[2:]
    text = _relative(guard, folder, text)
    return sign + _with_plain_names(guard, folder, text)


def _with_slashes(guard: Guard, folder: WorkPath, text: str) -> str:
    """The glob with slashes for backslashes that stand between folders, not before special characters."""
    first, backslash, _ = text.partition("\\")
    if not backslash or "/" in text:
        return text
    separates = first in (".", "**") or (not _MAGIC & set(first) and _exists(guard, folder, first))
    return text.replace("\\", "/") if separates else text


def _relative(guard: Guard, folder: WorkPath, text: str) -> str:
    """The glob relative to the folder, where it is an absolute path or begins with the folder."""
    parts = text.split("/")
    if (folder == ROOT and parts[0]) or len(parts) < 2 or _exists(guard, folder, parts[0] or parts[1]):
        return text
    for magic in (_WILD, _MAGIC):
        at = next((at for at, part in enumerate(parts) if magic & set(part)), len(parts) - 1)
        literal, rest = "/".join(parts[:at]), "/".join(parts[at:])
        try:
            meant = guard.parse(quote(literal)) if literal else None
        except ReadroomError:
            continue
        if meant is not None and (not _MAGIC & set(literal) or _exists(guard, ROOT, meant)):
            return _below(meant, folder, rest) or text
    return text


def _below(meant: WorkPath, folder: WorkPath, rest: str) -> str | None:
    """The glob `rest` of a folder as one of another folder; None if it cannot match there."""
    if meant == folder:
        return f"/{rest}"
    if folder == ROOT or meant.startswith(f"{folder}/"):
        return f"/{meant.removeprefix(f'{folder}/')}/{rest}"
    above = meant == ROOT or folder.startswith(f"{meant}/")
    return rest if above and rest.startswith("**") else None


def _with_plain_names(guard: Guard, folder: WorkPath, text: str) -> str:
    """The glob with brackets and braces as they are, in names that there are: `app/[id]/page.tsx`."""
    if not _BRACKETS.search(text):
        return text
    parts, at = text.split("/"), folder
    for number, part in enumerate(parts):
        if not part:
            continue
        if _WILD & set(part):
            break
        if _BRACKETS.search(part) and _exists(guard, at, part):
            parts[number] = _SPECIAL.sub(r"\\\1", part)
        at = join(at, part)
    return "/".join(parts)


def _exists(guard: Guard, folder: WorkPath, name: str) -> bool:
    return _kind(guard, folder, name) is not None


def _kind(guard: Guard, folder: WorkPath, name: str) -> EntryKind | None:
    try:
        return guard.stat(join(folder, name))[1].kind
    except ReadroomError:
        return None
