"""Where the files of a ranked search are opened: through the guard, members through that of their archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import final

from readroom.deadline import Deadline
from readroom.engine.services import Services
from readroom.paths import WorkPath, may_lead_inside
from readroom.policy.guard import Guard
from readroom.stores.base import Folder, Source


@final
class Opener:
    """Opens what one search looks at.

    Attributes:
        guard: Of the workspace, or of the archive in which the searched folder is.
        archives: Whether members of archives are looked at.
    """

    def __init__(self, services: Services, deadline: Deadline, *, archives: bool) -> None:
        self.guard = services.guard
        self.archives = archives
        self._room = services.archives
        self._deadline = deadline

    @contextmanager
    def file(self, path: WorkPath) -> Iterator[tuple[Guard, Source]]:
        """A file by its real path, and the guard that let it through. Raises as `Guard.open` does."""
        with ExitStack() as opened:
            guard = self.guard
            if self.archives and may_lead_inside(path):
                inner = self._room().entered(guard, path, self._deadline)
                if inner is not None:
                    opened.callback(inner.close)
                    guard = inner
            yield guard, opened.enter_context(guard.open(path))

    @contextmanager
    def members(
        self, guard: Guard, path: WorkPath, deadline: Deadline
    ) -> Iterator[tuple[Guard, Folder] | None]:
        """The folder that an archive is, and its guard; None for what is no archive.

        Raises:
            BrokenData, BadDocument: It cannot be opened.
            TimedOut: It was not expanded in time.
            ReadroomError: As `Guard.open` does.
        """
        with ExitStack() as opened:
            inside = self._room().folder(guard, path, deadline)
            if inside is None:
                yield None
                return
            inner, top = inside
            opened.callback(inner.close)
            yield inner, opened.enter_context(inner.open_folder(top))
