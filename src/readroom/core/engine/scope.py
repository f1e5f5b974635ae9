"""Which files below the searched folder a call asks for.

Globs and types only narrow a search.  Hidden names are left out unless `include` asks for them, the path of
the call leads below a hidden folder, or a glob with a hidden name in it matches.  Ignored names are left out
unless `include` asks for them, whatever a glob matches.  (rg would search ignored files as soon as a glob
matches them, all of node_modules among them.)  The decision is made here for every store; rg gets only hints
that keep it from walking much more than needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import final

from msgspec import Struct

from readroom.core.engine.cursors import path_key
from readroom.core.errors import ReadroomError
from readroom.core.limits import MAX_PATH_DEPTH
from readroom.core.paths import ROOT, WorkPath, join, parts
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.quoting import quote
from readroom.core.search.globs import Globs
from readroom.core.values import EntryKind, GrepRequest, Warn

_MAGIC = frozenset("*?[\\")
_BRACES = frozenset("{}")


class Hints(Struct, frozen=True):
    """A superset of the files that a scope takes.

    Attributes:
        folders: Where they are, relative to the searched folder, in path order.
        names: Globs of their last parts; none mean any.
        without: Globs of paths that are not among them.
    """

    folders: Sequence[str]
    names: Sequence[str]
    without: Sequence[str]


@final
class Scope:
    """Decides which files a call asks for. Paths are relative to the searched folder.

    Attributes:
        sees_hidden: Whether any hidden file is asked for.
        sees_ignored: Whether ignored files are.
        too_deep: The first folder that was not entered because no path can name what is in it.
    """

    def __init__(
        self, guard: Guard, request: GrepRequest, top: WorkPath, type_globs: Sequence[str] | None
    ) -> None:
        """Prepare a scope.

        Args:
            guard: Of the workspace; its ignore files are consulted.
            request: What is asked for.
            top: The real name of the searched folder.
            type_globs: What the type stands for; None without a type.
        """
        self._top = top
        globs = globs_in(guard, request.path, request.glob) if request.glob else ()
        self._globs = Globs(globs)
        self._whole_folders = Globs([glob for glob in globs if glob.endswith("/")])
        self._type = None if type_globs is None else Globs(type_globs)
        self._type_names = type_globs
        named = any(part.startswith(".") for part in parts(WorkPath(request.path)))
        self._hidden = named or "hidden" in request.include
        self.sees_hidden = self._hidden or self._globs.names_hidden
        self.sees_ignored = "ignored" in request.include
        self._ignores = None if "ignored" in request.include else IgnoreTree(guard, top)
        self._entered: dict[str, bool] = {"": True}
        self._levels = MAX_PATH_DEPTH - len(parts(top))
        self.too_deep: str | None = None
        self._taken_whole: dict[str, bool] = {"": False}

    def enters(self, folder: str) -> bool:
        """Whether files below a folder may be asked for; checks the folders above it, too."""
        known = self._entered.get(folder)
        if known is None:
            if folder.count("/") + 1 >= self._levels:
                self.too_deep = self.too_deep or "/".join(folder.split("/")[: self._levels])
                return False
            above, _, name = folder.rpartition("/")
            known = (
                self.enters(above) and self._sees(folder, name, folder=True) and self._globs.enters(folder)
            )
            self._entered[folder] = known
        return known

    def takes(self, file: str) -> bool:
        """Whether a file is asked for."""
        above, _, name = file.rpartition("/")
        if not self.enters(above) or not self._sees(file, name, folder=False):
            return False
        return self.wants(file) and not self.leaves_hidden(file)

    def wants(self, file: str) -> bool:
        """Whether globs and the type take a file, hidden and ignored or not."""
        above, _, name = file.rpartition("/")
        if self._type is not None and not self._type.takes(name, folder=False):
            return False
        decided = self._globs.decides(file, folder=False)
        if decided is None:
            return self._globs.takes(file, folder=False) or self._whole(above)
        return decided

    def walks(self, folder: str) -> bool:
        """Whether no glob excludes a folder, hidden and ignored or not."""
        return self._globs.enters(folder)

    def may_hold(self, folder: str) -> bool:
        """Whether globs may take a file below a folder, as far as their beginnings tell."""
        return self._globs.may_hold(folder)

    def leaves_hidden(self, path: str) -> bool:
        """Whether a file is left out because it, or a folder above it, is hidden."""
        if self._hidden or not is_hidden(path):
            return False
        named = self._whole_folders.names_hidden and self._whole(path.rpartition("/")[0])
        return not named and not self._globs.hidden_name(path)

    def ignored(self, folder: str, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The names in a folder that ignore files hide; `folders` are those of them that are folders."""
        if self._ignores is None:
            return set()
        return self._ignores.hidden(join_below(self._top, folder), names, folders)

    def sees(self, file: str) -> bool:
        """Whether a file is neither hidden nor ignored, whatever globs and types say."""
        return self._sees(file, file.rpartition("/")[2], folder=False)

    def enter_archive(self, folder: str, archive: str) -> None:
        """Take a folder of an archive, and those above it in there: none of them has ignore files on disk."""
        if self._ignores is None or folder in self._entered:
            return
        ends = [at for at, char in enumerate(folder) if char == "/" and at >= len(archive)]
        for end in (*ends, len(folder)):
            self._ignores.enter(join_below(self._top, folder[:end]), ())

    def taken(self, folder: str, names: Sequence[str], marks: Container[str]) -> list[str]:
        """The files in one folder that are asked for; like `takes`, but fast for many.

        `marks` are those of `ignore_files.MARKS` that are in the folder.
        """
        if not self.enters(folder):
            return []
        if self._ignores is not None:
            self._ignores.enter(join_below(self._top, folder), marks)
        if not self.sees_hidden:
            names = [name for name in names if name[0] != "."]
        if self._ignores is not None and names:
            ignored = self._ignores.hidden(join_below(self._top, folder), names, ())
            names = [name for name in names if name not in ignored]
        if self._type is None and self._globs.takes_all:
            return list(names)
        prefix = f"{folder}/" if folder else ""
        return [name for name in names if self.takes(prefix + name)]

    def _sees(self, path: str, name: str, *, folder: bool) -> bool:
        if not self.sees_hidden and name.startswith("."):
            return False
        return self._ignores is None or not self._ignores.ignored(join_below(self._top, path), folder=folder)

    def _whole(self, folder: str) -> bool:
        """Whether a glob like `src/` takes everything below the folder."""
        known = self._taken_whole.get(folder)
        if known is None:
            above = folder.rpartition("/")[0]
            known = self._whole(above) or (
                not self._whole_folders.takes_all and self._whole_folders.takes(folder, folder=True)
            )
            self._taken_whole[folder] = known
        return known

    def hints(self) -> Hints:
        """Hints for a program that walks by itself."""
        wanted = [glob for glob in self._globs.texts if not glob.startswith("!")]
        last = max((at for at, glob in enumerate(self._globs.texts) if not glob.startswith("!")), default=-1)
        without = [
            glob[1:]
            for glob in self._globs.texts[last + 1 :]
            # rg takes braces for alternatives, and drops blanks at the end.
            if not _BRACES & set(glob) and not glob[-1].isspace()
        ]
        names = [_name(glob) for glob in wanted]
        if not names or "*" in names:
            names = list(self._type_names or ())
        folders = {_literal_folder(glob) for glob in wanted} or {""}
        return Hints(_outermost(folders), names, without)


def is_hidden(path: str) -> bool:
    """Whether a name or a folder above it begins with a dot."""
    return path.startswith(".") or "/." in path


def join_below(top: WorkPath, path: str) -> WorkPath:
    """The path of something below the searched folder."""
    return top if not path else WorkPath(path) if top == ROOT else join(top, path)


def relative_to(top: WorkPath, real: WorkPath) -> str:
    """A real path below the searched folder, relative to it."""
    return real if top == ROOT else real.removeprefix(f"{top}/")


def _name(glob: str) -> str:
    """A glob that matches the last part of all paths that `glob` matches."""
    last = glob.rpartition("/")[2]
    # rg takes braces for alternatives, and a colon has a meaning in a type.
    return "*" if last in ("", "**") or _BRACES & set(last) or ":" in last else last


def _literal_folder(glob: str) -> str:
    """The longest literal folder that all files matched by `glob` are below."""
    if "/" not in glob.removesuffix("/"):
        return ""
    parts = []
    for part in glob.removeprefix("/").split("/")[:-1]:
        if _MAGIC & set(part):
            break
        parts.append(part)
    return "/".join(parts)


def _outermost(folders: set[str]) -> list[str]:
    """The folders that are not inside others, in path order."""
    outer: list[str] = []
    for folder in sorted(folders, key=path_key):
        if not any(above == "" or folder == above or folder.startswith(above + "/") for above in outer):
            outer.append(folder)
    return outer


# -----------------------------------------------------------------------------
# How the globs of a call are meant: paths and names that are written as globs.
#
# Globs are relative to the folder of the call.  Callers also write an absolute path below the root, a
# path that begins with the folder of the call, `\` between folders, and names that hold brackets or
# braces.  If the workspace has the file or folder that such a glob names, the glob means it; otherwise
# it is unchanged.
# -----------------------------------------------------------------------------

_BRACKETS = re.compile(r"[\[{]")
_SPECIAL = re.compile(r"([\\*?\[\]{}!#])")
_WILD = frozenset("*?")
_GLOB_MAGIC = frozenset("*?[{\\")


def globs_in(guard: Guard, folder: str, globs: Sequence[str]) -> tuple[str, ...]:
    """The globs of a call for a folder, in the form in which they are matched."""
    meant = [
        _meant(guard, WorkPath(folder), glob)
        if "/" in glob or "\\" in glob or _BRACKETS.search(glob)
        else glob
        for glob in globs
    ]
    return tuple(spelling for glob in meant for spelling in _composed(glob))


def _composed(glob: str) -> Iterable[str]:
    """The glob in each Unicode composition that names may have; a set of characters stays as it is."""
    if glob.isascii() or _BRACKETS.search(glob):
        return (glob,)
    return dict.fromkeys((glob, unicodedata.normalize("NFC", glob), unicodedata.normalize("NFD", glob)))


def reading_of(guard: Guard, folder: str, globs: Sequence[str]) -> Iterator[Warn]:
    """How the globs of a call that matched nothing were read, if another reading is likely."""
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
        elif not _GLOB_MAGIC & set(plain) and _kind(guard, WorkPath(folder), plain) is EntryKind.FOLDER:
            yield Warn(
                "glob_reading", f"{quote(glob)} is a folder; {quote(f'{plain}/**')} matches its content"
            )


def _meant(guard: Guard, folder: WorkPath, glob: str) -> str:
    sign, text = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    text = _with_slashes(guard, folder, text)
    while text.startswith("./"):
        text = text[1:] if text[2:3] not in ("/", ".") else text[2:]
    text = _below_folder(guard, folder, text)
    return sign + _with_plain_names(guard, folder, text)


def _with_slashes(guard: Guard, folder: WorkPath, text: str) -> str:
    """The glob with slashes for backslashes that stand between folders, not before special characters."""
    first, backslash, _ = text.partition("\\")
    if not backslash or "/" in text:
        return text
    separates = first in (".", "**") or (not _GLOB_MAGIC & set(first) and _exists(guard, folder, first))
    return text.replace("\\", "/") if separates else text


def _below_folder(guard: Guard, folder: WorkPath, text: str) -> str:
    """The glob relative to the folder, where it is an absolute path or begins with the folder."""
    parts = text.split("/")
    if (folder == ROOT and parts[0]) or len(parts) < 2 or _exists(guard, folder, parts[0] or parts[1]):
        return text
    for magic in (_WILD, _GLOB_MAGIC):
        at = next((at for at, part in enumerate(parts) if magic & set(part)), len(parts) - 1)
        literal, rest = "/".join(parts[:at]), "/".join(parts[at:])
        try:
            meant = guard.parse(quote(literal)) if literal else None
        except ReadroomError:
            continue
        if meant is not None and (not _GLOB_MAGIC & set(literal) or _exists(guard, ROOT, meant)):
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
