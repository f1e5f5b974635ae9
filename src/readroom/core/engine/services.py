"""The context of the verbs: `Services`, which last as long as the workspace, and the `Job` of one call.

Both are frozen and passed on as they are, so a step that needs one more thing changes no signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.session.caches import OutlineCache, TextCache
from readroom.core.session.index_cache import IndexCache
from readroom.core.values import Cap, ReadRequest, ReadResult, Request, Result
from readroom.core.values.commands import (
    EndRequest,
    RunRequest,
    RunResult,
    StartedRequest,
    StartedResult,
    StartRequest,
    WatchRequest,
    WatchResult,
)
from readroom.core.values.steps import AS_IT_IS, Steps

if TYPE_CHECKING:
    from readroom.core.engine.find.kept import KeptTexts
    from readroom.core.history import History
    from readroom.core.history.keeping import CallRecorder
    from readroom.core.repository.repositories import Repositories

R_co = TypeVar("R_co", covariant=True)


class OwnCommands(Protocol):
    """The commands of one owner, and their kept outputs."""

    @property
    def guard(self) -> Guard:
        """The guard of the outputs."""

    def run(self, job: Job[RunRequest], services: Services | None = None) -> RunResult:
        """Run a command."""

    def start(self, job: Job[StartRequest]) -> WatchResult:
        """Start a command that runs on."""

    def watch(self, job: Job[WatchRequest]) -> WatchResult:
        """Look at one that runs on."""

    def end(self, job: Job[EndRequest]) -> WatchResult:
        """End one that runs on."""

    def started(self, request: StartedRequest) -> StartedResult:
        """Those that run on or ran on."""

    def read(self, request: ReadRequest, look: Callable[[ReadRequest], ReadResult]) -> ReadResult:
        """Read an output, adding what was not kept of it."""

    def parse(self, path: str) -> WorkPath | None:
        """The normal form of a path below `/.outputs`; None for any other path."""

    def named_inside(self, path: WorkPath, guard: Guard, folders: Sequence[str]) -> WorkPath | None:
        """The kept output that a path like `.outputs/NAME` means, although it names a file of the root.

        `folders` are those names of the folder of outputs that a contract has in the root.
        """

    def holds(self, path: WorkPath) -> bool:
        """Whether there is an output at this path."""


class ArchiveOpener(Protocol):
    """Opens archives in place."""

    def entered(self, guard: Guard, path: WorkPath, deadline: Deadline) -> Guard | None:
        """The guard of the archive that a path leads into, closed by the caller; None for no archive."""

    def folder(self, guard: Guard, path: WorkPath, deadline: Deadline) -> tuple[Guard, WorkPath] | None:
        """The guard of a file that is an archive, and its path as a folder; None if it is not one."""

    def close(self) -> None:
        """Release everything."""


class Documents(Protocol):
    """Keeps what was extracted of documents; only those who read documents look inside."""

    def close(self) -> None:
        """Release everything."""


class Services(Struct, frozen=True):
    """What the verbs use, under the rules of one contract and for one owner.

    Attributes:
        guard: The files that may be seen.
        targets: The names that may be changed.
        limits: Of the workspace.
        indexes: Line indexes of large files.
        texts: States of small files that were shown.
        outlines: Of files that stay as they are.
        found: What ranked searches have read; made when the first one is.
        documents: What is kept of documents; made when the first is read.
        archives: What opens archives; made for the first.
        repositories: The repositories of git; made when the first is asked for.
        commands: Where commands run; None where they do not.
        commands_off: Why they do not.
        history: The past of the workspace; None where none is kept.
        recorder: What keeps the changes of this call.
    """

    guard: Guard
    targets: WriteTargets
    limits: Limits
    indexes: IndexCache
    texts: TextCache
    outlines: OutlineCache
    found: Callable[[], KeptTexts]
    documents: Callable[[], Documents]
    archives: Callable[[], ArchiveOpener]
    repositories: Callable[[], Repositories]
    commands: OwnCommands | None
    commands_off: Callable[[], ReadroomError]
    history: History | None = None
    recorder: CallRecorder | None = None


class Job(Struct, Generic[R_co], frozen=True):
    """A request with the size limit of its reply, its deadline, and the steps of its contract.

    `part` performs a request that is a part of it, on the same terms, under a cap of its own.
    `caller` asked for it.
    """

    request: R_co
    cap: Cap
    deadline: Deadline
    steps: Steps = AS_IT_IS
    part: Callable[[Request, Cap], Result] | None = None
    caller: Caller = ANONYMOUS


Act: TypeAlias = Callable[[Services, "Job[Request]"], Result]
"""Performs a request."""
