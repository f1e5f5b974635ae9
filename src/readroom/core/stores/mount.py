"""The kept outputs of one owner as a read-only store, mounted as `/.outputs`.

The folder behind it is private and flat, and only readroom writes to it.  An output that is not there was
dropped, belongs to another owner, or was kept by a process that has ended; only its owner is told which.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import final

from readroom.core.errors import NotAFile, NotAFolder, NotFound, OutputGone
from readroom.core.errors.changes import ReadOnlyPlace
from readroom.core.paths import OUTPUTS, ROOT, WorkPath
from readroom.core.stores.base import Change, Leftover, Source, WriteTarget
from readroom.core.stores.local import LocalFolder, LocalSource, resolve
from readroom.core.stores.outputs import OwnOutputs
from readroom.core.stores.promises import Promises
from readroom.core.values import Stat, Version
from readroom.core.values.files import Warn

_LEFT = "newer outputs needed its place"
_UNKNOWN = (
    "an output belongs to the conversation that ran the command, and is removed with the process that ran it"
)


@final
class OutputsMount:
    """A store of one owner's outputs. Safe to share between threads."""

    name = OUTPUTS
    roots = (str(OUTPUTS),)
    promises = Promises(opening="readroom", exchange="none", locks="none", together="none")

    def __init__(
        self, outputs: OwnOutputs, shown: Callable[[Source], Source] = lambda source: source
    ) -> None:
        """`shown` gives an opened output as it may be shown."""
        self._outputs = outputs
        self._shown = shown

    @property
    def folder(self) -> str:
        """The local folder that holds the files."""
        return self._outputs.folder

    def require_root(self) -> None:
        """Always succeeds, since nothing else can take its place."""

    def open(self, path: WorkPath) -> Source:
        """Open an output for reading. Raises NotAFile, or OutputGone if there is no such output."""
        if path in (OUTPUTS, ROOT):
            raise NotAFile(OUTPUTS, "folder")
        self._outputs.refresh()
        try:
            fd = os.open(self._file(path), resolve.READ_FLAGS | os.O_NOFOLLOW)
        except OSError as error:
            raise self._failure(error, path) from None
        try:
            status = os.fstat(fd)
            resolve.require_regular(status, path)
        except BaseException:
            os.close(fd)
            raise
        return self._shown(LocalSource(resolve.Found(fd, path, status)))

    def open_folder(self, path: WorkPath) -> LocalFolder:
        """Open the only folder, which has all outputs."""
        if path not in (OUTPUTS, ROOT):
            self.open(path).close()
            raise NotAFolder(path, "file")
        self._outputs.refresh()
        try:
            fd = os.open(self.folder, resolve.FOLDER_FLAGS)
        except OSError as error:
            raise resolve.translated(error, path) from None
        return LocalFolder(resolve.Found(fd, OUTPUTS, os.fstat(fd)))

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The stat of an output or of the folder."""
        if path in (OUTPUTS, ROOT):
            with self.open_folder(path) as folder:
                return OUTPUTS, resolve.to_stat(os.fstat(folder.fileno()))
        with self.open(path) as source:
            return path, source.stat

    def place(self, path: WorkPath) -> WriteTarget:
        """Raises ReadOnlyPlace: kept outputs do not change."""
        raise ReadOnlyPlace(path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Raises ReadOnlyPlace, as `place` does before it."""
        raise ReadOnlyPlace(OUTPUTS)

    def recover(self) -> Sequence[Leftover]:
        """Nothing is ever left half done."""
        return ()

    def version(self, path: WorkPath) -> Version | None:
        try:
            with self.open(path) as source:
                return source.version
        except (NotFound, OutputGone):
            return None

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        return self.version(path) == version

    def close(self) -> None:
        """Does nothing: the outputs are closed by their owner."""

    def _file(self, path: WorkPath) -> str:
        name = path.removeprefix(f"{OUTPUTS}/")
        if name == path or "/" in name:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return os.path.join(self.folder, name)

    def _failure(self, error: OSError, path: WorkPath) -> Exception:
        name = path.removeprefix(f"{OUTPUTS}/")
        if not isinstance(error, FileNotFoundError) or name == path or "/" in name:
            return resolve.translated(error, path)
        left = self._outputs.gone(name.rpartition(".")[0])
        return OutputGone(path, _LEFT if left else _UNKNOWN, OUTPUTS)
