"""Count the files that a search below a folder did not open, so that no reply claims to be complete.

Hidden, ignored and binary files, archives, documents, links that lead elsewhere, and entries that are not
files are counted by kind, and the first are named.  Denied names are not among them: a search says the same
whether or not they exist.

rg logs the names that it skips, so that most searches need no walk for them; if the log is not certain, and
in stores without rg, names are found in a walk through the guard.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Literal, TypeAlias, final

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import path_key
from readroom.core.engine.scope import Scope, is_hidden, join_below
from readroom.core.engine.walk import Walk
from readroom.core.errors import Cancelled, ReadroomError
from readroom.core.formats.kinds import is_archive_name, is_searched, searched_as
from readroom.core.limits import LIST_MAX_DEPTH, MAX_PATH_DEPTH
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.quoting import first_of, shortened
from readroom.core.search.ripgrep import Skips
from readroom.core.values import EntryKind, Warn

Kind: TypeAlias = Literal["hidden", "ignored", "archives", "documents", "binary", "links", "special"]

_WORDS: Mapping[Kind, tuple[str, str]] = {
    "hidden": ("hidden", "hidden"),
    "ignored": ("ignored", "ignored"),
    "archives": ("archive", "archives"),
    "documents": ("document", "documents"),
    "binary": ("binary", "binary"),
    "links": ("link", "links"),
    "special": ("pipe or device", "pipes or devices"),
}
"""The nouns of their counts, in this order."""

_NAMED = 2
"""Maximum names of a kind: this note ends every search of such a tree."""

_NAME_BYTES = 160
"""Maximum bytes of a name in the note."""

_SHARE, _MAX_S = 0.3, 1.0
"""The share of the remaining time that a walk for names may take, and the seconds, as it only counts."""


@final
class Unsearched:
    """The files that one search left out, relative to its folder.

    Attributes:
        whole: Whether all of it was found in time.
        counted: Whether the search has come to its end, so that its counts can be reported.
    """

    def __init__(
        self, guard: Guard, folder: str, top: WorkPath, scope: Scope, searched: Container[str] = ()
    ) -> None:
        """Prepare for a search.

        Args:
            guard: The guard of the workspace.
            folder: The searched folder as it was asked for.
            top: Its real name.
            scope: The requested files.
            searched: Kinds of files that the search opens in its own way.
        """
        self._guard = guard
        self._folder = WorkPath(folder)
        self._top = top
        self._scope = scope
        self._searched = searched
        self._names: dict[Kind, set[str]] = {kind: set() for kind in _WORDS}
        self.whole = True
        self.counted = False

    # --- collecting ---------------------------------------------------------------------------

    def add(self, kind: Kind, path: str) -> None:
        """Add a file that was left out for one reason."""
        if kind not in self._searched:
            self._names[kind].add(path)

    def add_unread(self, path: str, head: bytes = b"") -> None:
        """Add a file that was not searched because it is not text, as what it is by name and beginning."""
        if is_archive_name(path):
            self.add("archives", path)
        elif is_searched(path) or searched_as(path, head) is not None:
            self.add("documents", path)
        else:
            self.add("binary", path)

    def add_binary(self, paths: Iterable[str]) -> None:
        """Add files that were not searched because of their bytes, as far as the call asks for them."""
        for path in filter(self._scope.takes, paths):
            if self.may_be_named(path):
                self.add_unread(path)

    def add_skips(self, skips: Skips, deadline: Deadline) -> None:
        """Add what rg walked past; its log is complete, and ignore files mean the same to git."""
        for path in skips.ignored.difference(self.misread(skips)):
            if self._scope.wants(path) or (
                self._scope.may_hold(path) and self._kind(path) is EntryKind.FOLDER
            ):
                self.add("ignored", path)
        for path in filter(self.may_be_named, skips.hidden):
            if self._kind(path) is EntryKind.FOLDER:
                self.walk(deadline, path)
            elif self._scope.wants(path):
                self.add("hidden", path)
        for path in filter(self.may_be_named, filter(self._scope.wants, skips.links | skips.special)):
            self._take_one(EntryKind.LINK if path in skips.links else EntryKind.OTHER, path)

    def misread(self, skips: Skips) -> list[str]:
        """Names that rg treats as ignored and git does not, and names that may not be shown."""
        by_folder: dict[str, list[str]] = {}
        for path in skips.ignored:
            by_folder.setdefault(path.rpartition("/")[0], []).append(path.rpartition("/")[2])
        found = []
        for folder, names in by_folder.items():
            as_files = self._scope.ignored(folder, names, ())
            as_folders = self._scope.ignored(folder, names, names)
            for name in names:
                path = f"{folder}/{name}" if folder else name
                is_ignored = name in as_files
                if is_ignored is not (name in as_folders):
                    is_ignored = name in (as_folders if self._kind(path) is EntryKind.FOLDER else as_files)
                if not is_ignored or not self.may_be_named(path):
                    found.append(path)
        return found

    def _kind(self, path: str) -> EntryKind | None:
        try:
            return self._guard.stat(join_below(self._top, path))[1].kind
        except ReadroomError:
            return None

    def may_be_named(self, path: str) -> bool:
        """Whether no rule denies a path."""
        real = join_below(self._top, path)
        return self._guard.allows(real, folder=False) and self._guard.allows(real, folder=True)

    # --- walking ------------------------------------------------------------------------------

    def walk(self, deadline: Deadline, below: str = "") -> None:
        """Find what is left out by name in a walk, below one folder of the searched one."""
        left = deadline.remaining
        within = deadline.within(_MAX_S if left is None else min(left * _SHARE, _MAX_S))
        prefix = f"{below}/" if below else ""
        walk = Walk(
            self._guard,
            within,
            depth=LIST_MAX_DEPTH,
            ignores=None,
            enters=lambda folder: self._enters(prefix + folder),
            unit=None,
        )
        path = join_below(self._top, below)
        with suppress(ReadroomError), self._guard.open_folder(path) as opened:
            if opened.real != path:
                return
            with closing(walk.below(opened, path)) as runs:
                for run in runs:
                    self.take(prefix + run.prefix, run.names, run.kinds)
        self.whole = self.whole and walk.finished
        if deadline.cancelled:
            raise Cancelled

    def _enters(self, folder: str) -> bool:
        above, _, name = folder.rpartition("/")
        return self._scope.walks(folder) and not self._scope.ignored(above, [name], {name})

    def take(self, prefix: str, names: Sequence[str], kinds: Mapping[str, EntryKind]) -> None:
        """Add what is left out of one folder, of its names that rules allow; `kinds` as in a `Run`."""
        folders = {name for name in names if kinds.get(name) is EntryKind.FOLDER}
        ignored = self._scope.ignored(prefix.removesuffix("/"), names, folders)
        for name in ignored:
            asks = self._scope.may_hold if name in folders else self._scope.wants
            if asks(prefix + name):
                self.add("ignored", prefix + name)
        hidden = is_hidden(prefix)
        for name in names:
            kind = kinds.get(name, EntryKind.FILE)
            odd = hidden or name[0] == "." or kind is not EntryKind.FILE
            if odd and name not in ignored and name not in folders and self._scope.wants(prefix + name):
                self._take_one(kind, prefix + name)

    def _take_one(self, kind: EntryKind, path: str) -> None:
        if kind is EntryKind.LINK:
            self._take_link(path)
        elif kind is not EntryKind.FILE:
            self.add("special", path)
        elif self._scope.leaves_hidden(path):
            self.add("hidden", path)

    def _take_link(self, path: str) -> None:
        """Add a link whose target can be opened and is not searched under its own name."""
        with suppress(ReadroomError):
            real, _ = self._guard.stat(join_below(self._top, path))
            if real != self._top and not real.startswith(f"{self._top}/") and self._top != ROOT:
                self.add("links", path)

    def take_hidden(self, folder: str, deadline: Deadline) -> None:
        """Add what is in a hidden folder that the search does not enter, if that is why it does not."""
        if self._enters(folder) and not self._scope.enters(folder):
            self.walk(deadline, folder)

    # --- saying it ----------------------------------------------------------------------------

    @property
    def kinds(self) -> list[Kind]:
        """The kinds that have a count."""
        return [kind for kind, names in self._names.items() if names]

    @property
    def total(self) -> int:
        """How many were left out, once they are counted."""
        return sum(map(len, self._names.values())) if self.counted else 0

    def warnings(self, compressed: Collection[WorkPath] = ()) -> Iterator[Warn]:
        """Warnings about the files left out, with compressed files in the same sentence."""
        if self._scope.too_deep is not None:
            named = shortened(join_below(self._folder, self._scope.too_deep), _NAME_BYTES)
            yield Warn("too_deep", f"{named}: not searched; a path has at most {MAX_PATH_DEPTH} parts")
        if self.total:
            said = [self._counted(kind) for kind in self.kinds]
            if compressed:
                said.append(f"{len(compressed):,} compressed {_first_of(compressed)}")
            yield Warn("left_out", ", ".join(said))
        elif compressed:
            what = "1 file was" if len(compressed) == 1 else f"{len(compressed):,} files were"
            # This is reported below every search of such a tree, so one name is enough.
            yield Warn("compressed", f"{what} not searched: {first_of(sorted(compressed, key=path_key), 1)}")

    def _counted(self, kind: Kind) -> str:
        names = self._names[kind]
        count = f"{len(names):,}{'' if self.whole else '+'} {_WORDS[kind][len(names) > 1]}"
        return f"{count} {_first_of(names, self._folder)}"


CUT_SHORT = "cut short, so members may be missing"
UNUSABLE = "members that no path leads to, not searched"
"""Clauses about members that a search of an archive misses."""


def _first_of(names: Collection[str], folder: WorkPath = ROOT) -> str:
    first = [join_below(folder, name) for name in sorted(names, key=path_key)[:_NAMED]]
    dots = ", …" if len(names) > _NAMED else ""
    return f"({', '.join(shortened(name, _NAME_BYTES) for name in first)}{dots})"
