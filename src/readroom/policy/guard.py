"""The only store an engine is given: policy and confinement and opening, in one act.

The rules are asked about the name that was asked for before anything is looked
up, so that a denied name gives the same answer whether or not something is
there.  They are asked again about the real name of what was opened, on the very
descriptor that is then read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, final

from readroom import paths
from readroom.errors import Denied, HardLinked, NotAFile, NotAFolder, NotFound
from readroom.model import EntryKind, Stat
from readroom.paths import WorkPath
from readroom.policy.defaults import denials
from readroom.policy.rules import Rules, Verdict
from readroom.stores.base import Folder, Source, Store

HardLinks: TypeAlias = Literal["warn", "refuse"]


@final
class Guard:
    """A store under policy. Safe to share between threads."""

    def __init__(self, store: Store, rules: Rules | None = None, hardlinks: HardLinks = "warn") -> None:
        """Put a store under rules.

        Args:
            store: What it guards; closing the guard closes it.
            rules: Denials; None for the built-in ones.
            hardlinks: What happens to files with several names.
        """
        self.store = store
        self._rules = rules or Rules([denials()])
        self._hardlinks = hardlinks

    @property
    def roots(self) -> Sequence[str]:
        """Absolute names of the root, for `paths.parse`."""
        return self.store.roots

    @property
    def folder(self) -> str | None:
        """The local root, for programs that walk it; what they find goes through `allows` and `open`."""
        return self.store.folder

    def parse(self, path: str) -> WorkPath:
        """The normalized form of a path as a caller gives it."""
        return paths.parse(path, self.roots)

    def open(self, path: str) -> Source:
        """Open a file for reading.

        Raises:
            Denied: A rule denies its name or the name it really has.
            OutsideRoot, NotFound, NotAFile, NoPermission, BadPath, StoreFailed: As the store says.
            HardLinked: It has several names, and policy refuses that.
        """
        asked = self.parse(path)
        self._require(asked, folder=False)
        try:
            source = self.store.open(asked)
        except (NotFound, NotAFile):
            # What is there, if anything, is not a file: a rule for folders must not answer differently.
            self._require(asked, folder=True)
            raise
        try:
            if source.real != asked:
                self._require(source.real, folder=False, asked=asked)
            if self._hardlinks == "refuse" and source.stat.links > 1:
                raise HardLinked(asked, source.stat.links, "policy refuses such files")
        except BaseException:
            source.close()
            raise
        return source

    def open_folder(self, path: str) -> Folder:
        """Open a folder; its entries still have to be asked for with `allows`."""
        asked = self.parse(path)
        self._require(asked, folder=True)
        folder = self.store.open_folder(asked)
        try:
            if folder.real != asked:
                self._require(folder.real, folder=True, asked=asked)
        except BaseException:
            folder.close()
            raise
        return folder

    def stat(self, path: str) -> tuple[WorkPath, Stat]:
        """The real name and the stat of a file or folder that may be seen."""
        asked = self.parse(path)
        self._require(asked, folder=False)
        try:
            real, found = self.store.stat(asked)
        except (NotFound, NotAFolder):
            self._require(asked, folder=True)
            raise
        folder = found.kind is EntryKind.FOLDER
        if folder:
            self._require(asked, folder=True)
        if real != asked:
            self._require(real, folder=folder, asked=asked)
        return real, found

    def allows(self, path: WorkPath, *, folder: bool) -> bool:
        """Whether the rules let a name be seen; links and ignore files are not looked at."""
        return self._rules.decide(path, folder=folder).allowed

    def decide(self, path: str) -> Verdict:
        """What the rules say of a path, as a folder or as a file."""
        asked = self.parse(path)
        verdict = self._rules.decide(asked, folder=True)
        return verdict if not verdict.allowed else self._rules.decide(asked, folder=False)

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def _require(self, path: WorkPath, *, folder: bool, asked: WorkPath | None = None) -> None:
        verdict = self._rules.decide(path, folder=folder)
        if verdict.rule is not None:
            # The name asked for, not the real one: a link must not tell the names of what is denied.
            raise Denied(asked or path, verdict.rule.pattern, verdict.rule.source, verdict.rule.reason)
