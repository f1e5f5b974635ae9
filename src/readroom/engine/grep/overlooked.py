"""Find the files that rg skips in silence although a search includes them, and those it leaves out.

misread   rg takes some patterns of ignore files otherwise than git does
mixed     texts with a NUL in their beginning, which rg takes for binary
binary    all others with a NUL in their beginning: they are left out, and counted
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from typing import final

from readroom.deadline import Deadline
from readroom.engine.cursors import path_key
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.scope import Scope, join_below
from readroom.engine.unsearched import Unsearched
from readroom.errors import ReadroomError, TimedOut
from readroom.formats.holding import is_archive_name
from readroom.formats.kinds import SEARCHED, suffix
from readroom.limits import HEAD_BYTES
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.search.pattern import is_mixed
from readroom.search.ripgrep import Reports, early_nul_flags
from readroom.search.skips import Skips

_LOOKED_AT = 256
"""Binary files whose beginnings are read to see whether they are texts: some 20 ms."""

_NEVER_TEXT = frozenset(
    (
        *("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico", "icns", "heic", "woff", "woff2"),
        *("ttf", "otf", "eot", "mp3", "mp4", "mov", "mkv", "webm", "avi", "ogg", "flac", "wav", "m4a"),
        *("o", "a", "so", "dll", "dylib", "exe", "obj", "pyc", "class", "wasm", "node", "pdb", "lib"),
    )
)
"""Endings of files that are binary whatever they hold."""


@final
class Overlooked:
    """The files that rg did not search below a folder.

    Attributes:
        opened: Files that rg takes for binary and that the search opens nevertheless.
    """

    def __init__(
        self, guard: Guard, top: WorkPath, tree: Tree, reports: Reports, scope: Scope, names: Unsearched
    ) -> None:
        """Args as of a `Tree`; `names` collects what is left out."""
        self._guard = guard
        self._top = top
        self._tree = tree
        self._reports = reports
        self._scope = scope
        self._names = names
        self._skips: Skips | None = None
        self._binary: Set[str] = frozenset()
        self.opened: set[str] = set()

    def look(self, part: Deadline, least: bytes, *, walked: bool) -> set[str]:
        """The files that are searched as well: the misread and the mixed.

        Args:
            part: Ends the search for them.
            least: Binary files with smaller keys may be ones that earlier pages have searched.
            walked: Whether the last reports are of a whole walk.
        """
        mixed: set[str] = set()
        if self._tree.leaves_binary:
            if walked and self._reports.sure:
                self._binary = self._reports.binary - self._reports.texts
            else:
                self._binary = frozenset(self._tree.instead(early_nul_flags()).everything(part)[0])
            self._binary = {path for path in self._binary if path_key(path) >= least}
            mixed.update(self._mixed())
        self.opened |= mixed
        self._skips = self._walked(part, walked=walked)
        return mixed | self._misread(self._skips, part)

    def _walked(self, part: Deadline, *, walked: bool) -> Skips:
        """The names that rg skips, from the log of a walk."""
        if walked and self._reports.logged:
            return self._reports.skips
        reports = Reports()
        try:
            for _ in self._tree.listing(part, reports):
                pass
        except TimedOut:
            reports.skips.sure = False
        return reports.skips

    def _misread(self, skips: Skips, part: Deadline) -> set[str]:
        if self._scope.sees_ignored:
            return set()
        tree = self._tree.unignored()
        if skips.sure and tree.is_confined:
            paths = sorted(filter(self._names.may_be_named, self._names.misread(skips)), key=path_key)
            return set(tree.named(paths)) if paths else set()
        names, whole = self._tree.everything(part)
        return set(tree.everything(part)[0]).difference(names) if whole else set()

    def _mixed(self) -> Iterator[str]:
        maybe = (path for path in self._binary if suffix(path) not in _NEVER_TEXT | SEARCHED)
        asked = [path for path in maybe if not is_archive_name(path) and self._scope.takes(path)]
        for path in sorted(asked, key=path_key)[:_LOOKED_AT]:
            with suppress(ReadroomError), self._guard.open(join_below(self._top, path)) as source:
                if is_mixed(source.read_at(0, HEAD_BYTES)):
                    yield path

    def count(self, deadline: Deadline) -> None:
        """Collect the names of what is left out."""
        self._names.add_binary(self._binary - self.opened)
        skips = self._skips
        if skips is None or not skips.sure or not skips.as_git:
            self._names.walk(deadline)
        else:
            self._names.add_skips(skips, deadline)
