"""A settings file of another program: read, replaced atomically, and restored.

A project may come from anywhere, so no link below its root is followed; in a user's own folder links are not
followed either, but with a note to its owner. The previous state is kept next to the file until it is undone.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct

from readroom.core.errors import BadConfig

BACKUP = ".before-readroom"
"""The suffix of a backup."""

_MOST_BYTES = 4 * 1024 * 1024
"""Settings are kilobytes; whatever is larger is something else."""


class SettingsFile(Struct, frozen=True):
    """The file `name` below the trusted folder `base`."""

    base: str
    name: str

    @property
    def path(self) -> str:
        """Its path."""
        return os.path.join(self.base, self.name)

    @property
    def backup(self) -> str:
        """The path of its backup."""
        return self.path + BACKUP

    def read(self, ending: str = "") -> str | None:
        """Its text, or with the suffix `BACKUP` that of the backup; None if missing. Raises BadConfig."""
        with self._folder(make=False) as folder:
            return None if folder is None else self._text(folder, self._last + ending)

    def replace(self, text: str, *, keep: str | None) -> None:
        """Replace its text in one step; `keep` is the new backup, None leaves the backup as it is.

        Raises:
            BadConfig: It is not a plain file of this user's, or the system refuses.
        """
        with self._folder(make=True) as folder:
            assert folder is not None
            mode = self._mode(folder)
            if keep is not None:
                self._put(folder, self._last + BACKUP, keep, mode)
            self._put(folder, self._last, text, mode)

    def remove(self, *, backup_only: bool = False) -> None:
        """Remove its backup, and with it the file. Raises BadConfig."""
        with self._folder(make=False) as folder:
            if folder is None:
                return
            for name in (self._last + BACKUP, *(() if backup_only else (self._last,))):
                try:
                    os.unlink(name, dir_fd=folder)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    raise self._refused(error) from None

    @property
    def _last(self) -> str:
        return self.name.rpartition("/")[2]

    @contextmanager
    def _folder(self, *, make: bool) -> Iterator[int | None]:
        """Its folder, open; None if there is none."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        opened: list[int] = []
        try:
            if make:
                os.makedirs(self.base, exist_ok=True)
            opened.append(os.open(self.base, flags))
            for part in self.name.split("/")[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=opened[-1])
                opened.append(os.open(part, flags | os.O_NOFOLLOW, dir_fd=opened[-1]))
        except FileNotFoundError:
            self._close(opened)
            yield None
            return
        except OSError as error:
            self._close(opened)
            raise self._refused(error) from None
        try:
            yield opened[-1]
        finally:
            self._close(opened)

    def _close(self, opened: list[int]) -> None:
        for descriptor in opened:
            os.close(descriptor)

    def _text(self, folder: int, name: str) -> str | None:
        # Without blocking: it may be a pipe.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(error) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise self.bad("it is not a file")
        with open(descriptor, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise self.bad(f"it has more than {_MOST_BYTES:,} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self.bad(f"line {line}: it is not UTF-8") from None

    def _mode(self, folder: int) -> int:
        """The mode of the file that is replaced; of a new one that of a file that may hold a token."""
        try:
            status = os.stat(self._last, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return 0o600
        if stat.S_ISLNK(status.st_mode):
            raise self.bad(self._link(self._last))
        if not stat.S_ISREG(status.st_mode):
            raise self.bad("it is not a file")
        if status.st_nlink > 1:
            raise self.bad("it has a second name (hard link), which would keep the old content")
        if not status.st_mode & stat.S_IWUSR or not os.access(self._last, os.W_OK, dir_fd=folder):
            raise self.bad("it is write-protected")
        return stat.S_IMODE(status.st_mode)

    def _put(self, folder: int, name: str, text: str, mode: int) -> None:
        temporary = f".{name}.{secrets.token_hex(8)}"
        try:
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            try:
                with open(descriptor, "wb") as file:
                    file.write(text.encode())
                    os.fchmod(descriptor, mode)
                    file.flush()
                    os.fsync(descriptor)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> BadConfig:
        """The error for a failure of the system, which may be that a link is not followed."""
        link = next((part for part in self._parts() if os.path.islink(part)), None)
        refusal = os.strerror(error.errno) if error.errno else "it cannot be used"
        return self.bad(self._link(link) if link else refusal)

    def _parts(self) -> Iterator[str]:
        path = self.base
        for part in self.name.split("/"):
            path = os.path.join(path, part)
            yield path

    def _link(self, path: str) -> str:
        return f"{os.path.basename(path)} is a symbolic link, whose target is not changed from here"

    def bad(self, problem: str) -> BadConfig:
        """The error for settings that cannot be used."""
        advice = "Correct it, or paste the entry that is shown without --write."
        return BadConfig(self.path, "", problem, f"Nothing was changed. {advice}")
