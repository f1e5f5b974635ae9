"""The one junction: (workspace, contract, tool, arguments) -> reply.

Every face and every library method comes through `Workspace.call` or its
raising twin, so that the same call gives the same reply everywhere.  Failures
are caught here, once, and worded by the contract.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Self, assert_never

from readroom import config
from readroom.batch import EditFilesRequest
from readroom.caller import ANONYMOUS, Caller
from readroom.changes import EditRequest, WriteRequest
from readroom.commands import RunRequest
from readroom.contracts.base import Contract, Tool
from readroom.contracts.registry import contract
from readroom.contracts.rows import in_lines
from readroom.deadline import Deadline
from readroom.engine.nearby import with_near_names
from readroom.engine.read import read
from readroom.errors import (
    BadValue,
    Closed,
    CommandsOff,
    Internal,
    NoFolder,
    NotFound,
    NotGranted,
    Protected,
    ReadroomError,
)
from readroom.instances import Instances
from readroom.limits import MIN_REPLY_BYTES
from readroom.limits_keeping import STORE_BYTES
from readroom.model import (
    Cap,
    Fact,
    GrepRequest,
    ListRequest,
    ReadRequest,
    Reply,
    Request,
    Result,
)
from readroom.moves import DeleteRequest, MakeFolderRequest, MoveRequest, StatRequest, TrashRequest
from readroom.offers import Offer
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.policy.places import Places
from readroom.policy.rules import Layer
from readroom.raw import BytesRequest
from readroom.session.degrading import changes, counted, is_edit
from readroom.session.keeper import Visit
from readroom.session.outlines import OutlineCache
from readroom.session.session import Session
from readroom.session.texts import TextCache
from readroom.stores.base import Store
from readroom.stores.memory import MemoryStore

if TYPE_CHECKING:
    from readroom.engine.document_room import DocumentRoom
    from readroom.engine.run_room import OwnRoom

_LOG = logging.getLogger("readroom")
# Servers send it to their log; nobody else should find a traceback on the screen.
_LOG.addHandler(logging.NullHandler())


class Workspace:
    """A folder (or another store) with its policy, limits and session.

    Safe to share between threads.  Use as a context manager or call `close`.
    """

    def __init__(self, root: str | PathLike[str] | Store, *, settings: config.Settings | None = None) -> None:
        """Open a workspace.

        Args:
            root: A local folder, or a store.
            settings: Policy and limits from `config.load`; without it those of the root.

        Raises:
            NotFound, NotAFolder: There is no such folder.
            BadConfig: Its `readroom.toml` or an ignore file cannot be used.
        """
        self._store = config.open_store(root)
        self.settings = settings or config.load(self._store)
        self.guard = config.guard(self._store, self.settings)
        self.limits = self.settings.limits
        self.places = config.places(self.guard, self.settings)
        self._closed = False
        self._room = config.room(self.guard, self.places, self.settings)
        self._indexes = config.indexes(self._store, self.settings)
        self._texts = TextCache()
        self.keeper = config.keeper(self._store, self.settings)
        self._documents: DocumentRoom | None = None
        self._making = threading.Lock()
        self._outlines = OutlineCache()
        self._instances = Instances[Workspace]()
        self._records: dict[str, Contract] = {}
        self._narrowed: dict[tuple[Layer, ...], tuple[Guard, Places]] = {}

    def read(self, path: str, **options: Fact) -> Reply:
        """Read a window of a file; options are those of `read_file`. Raises ReadroomError."""
        return self.perform("read_file", {"path": path, **options})

    def grep(self, pattern: str, **options: Fact) -> Reply:
        """Search file contents; options are those of `grep_files`. Raises ReadroomError."""
        return self.perform("grep_files", {"pattern": pattern, **options})

    def list(self, path: str = ".", **options: Fact) -> Reply:
        """List a folder; options are those of `list_directory`. Raises ReadroomError."""
        return self.perform("list_directory", {"path": path, **options})

    def edit(
        self, path: str, expected_hash: str, edits: Sequence[Mapping[str, Fact]], **options: Fact
    ) -> Reply:
        """Replace texts in a file; options are those of `edit_file`. Raises ReadroomError."""
        arguments = {"path": path, "expected_hash": expected_hash, "edits": edits, **options}
        return self.perform("edit_file", arguments)

    def write(self, path: str, content: str, expected_hash: str, **options: Fact) -> Reply:
        """Create or replace a file; options are those of `write_file`. Raises ReadroomError."""
        arguments = {"path": path, "content": content, "expected_hash": expected_hash, **options}
        return self.perform("write_file", arguments)

    def run(self, command: str, **options: Fact) -> Reply:
        """Run a command where policy allows it; options are those of `run_command`. Raises ReadroomError."""
        return self.perform("run_command", {"command": command, **options})

    @property
    def runs_commands(self) -> bool:
        """Whether policy allows it."""
        return self._room is not None

    def tools(self, contract_name: str = "native", caller: Caller = ANONYMOUS) -> tuple[Offer, ...]:
        """The tools that this workspace offers, each with its schema and a `handler` that calls it."""
        call = partial(self.call, contract_name=contract_name, caller=caller)
        return tuple(Offer(tool, call) for tool in self.offered(contract_name))

    def offered(self, contract_name: str = "native") -> tuple[Tool, ...]:
        """The records of those tools; those that run commands only where policy allows it."""
        return self.contract(contract_name).offered(commands=self._room is not None)

    def contract(self, name: str) -> Contract:
        """The contract of that name, as this workspace offers it. Raises BadValue when there is none."""
        if name not in self._records:
            setup, roots = self.settings.setup, self._store.roots or (self.settings.setup.root,)
            setup = replace(setup, root=roots[0])
            self._records[name] = contract(name, setup)
        return self._records[name]

    def perform(
        self,
        tool: str,
        arguments: Mapping[str, Fact],
        *,
        contract_name: str = "native",
        deadline: Deadline | None = None,
        reply_bytes: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> Reply:
        """The reply to one tool call.

        Args:
            tool: Name in the contract.
            arguments: As a model sends them.
            contract_name: Whose tools are meant.
            deadline: Ends the work; its flag cancels it.
            reply_bytes: What the caller's client passes on, when that is less than the contract's cap.
            caller: Whose conversation it is, who pays for it, and who stands in the ledger.

        Raises:
            ReadroomError: Any class of `readroom.errors`.
        """
        record = self.contract(contract_name)
        cap = self._cap(record, reply_bytes, tool)
        with self.keeper.visit(caller, record, tool, arguments, cap) as visit:
            return self._answer(visit, record, tool, arguments, caller, deadline or Deadline())

    def call(
        self,
        tool: str,
        arguments: object,
        *,
        contract_name: str = "native",
        deadline: Deadline | None = None,
        reply_bytes: int | None = None,
        reply_lines: int | None = None,
        caller: Caller = ANONYMOUS,
        granted: frozenset[str] | None = None,
    ) -> Reply:
        """Like `perform`, but a failure is a reply too, in the contract's words: for models.

        `granted` are the tools that the caller may use; None is all of them.  `reply_lines` is the most
        lines that its client passes on.
        """
        record = self.contract(contract_name)
        cap = self._cap(record, reply_bytes, tool)
        if reply_lines is not None and record.by_lines:
            cap = in_lines(cap, reply_lines)
        with self.keeper.visit(caller, record, tool, arguments, cap) as visit:
            try:
                if granted is not None and record.tool(tool).name not in granted:
                    raise NotGranted(tool, [one.name for one in record.tools if one.name in granted])
                return self._answer(visit, record, tool, arguments, caller, deadline or Deadline())
            except ReadroomError as error:
                return visit.refusal(error)
            except Exception as error:
                _LOG.exception("call of %s failed", tool)
                return visit.refusal(Internal(type(error).__name__))

    def session(self, session_id: str = "") -> Session:
        """The conversation of that id, as callers name it; its `compacted` says that it was shortened."""
        return self.keeper.session(session_id)

    def refuse(
        self,
        error: ReadroomError,
        contract_name: str = "native",
        tool: str = "",
        *,
        reply_bytes: int | None = None,
    ) -> Reply:
        """A failure that a face met before the call began, in the contract's words."""
        record = self.contract(contract_name)
        return record.worded(tool, None).render_error(error, self._cap(record, reply_bytes, tool))

    def close(self) -> None:
        """Release the store, end what reads documents, remove kept outputs and what was expanded."""
        self._closed = True
        if self._room is not None:
            self._room.close()
        self.keeper.close()
        self._instances.close()
        if self._documents is not None:
            self._documents.close()
        self._indexes.close()
        self.guard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _cap(self, record: Contract, reply_bytes: int | None, tool: str = "") -> Cap:
        # None is "nobody has set it"; a value is one, also where it is the usual one.
        size, given = record.cap_of(tool), self.limits.reply_bytes
        if given is not None:
            size = given if record.raisable else min(size, given)
        if reply_bytes is not None:
            size = min(size, reply_bytes)
        return Cap(max(size, MIN_REPLY_BYTES), record.measure)

    def _answer(
        self,
        visit: Visit,
        record: Contract,
        tool: str,
        arguments: object,
        caller: Caller,
        deadline: Deadline,
    ) -> Reply:
        if record.seconds is not None:
            deadline = deadline.within(record.seconds)
        where = self._where(record.store_of(tool, arguments), caller, deadline)

        def work(request: Request, cap: Cap, content: bool) -> tuple[Result, Reply]:
            result = where._result(record, request, cap, deadline, caller)
            result = result if content else counted(result, request)
            reply = record.worded(tool, arguments).render(result, cap)
            return reply.shown or result, reply

        return visit.answer(record.parse(tool, arguments), work)

    def _result(
        self, record: Contract, request: Request, cap: Cap, deadline: Deadline, caller: Caller = ANONYMOUS
    ) -> Result:
        if self._closed:
            raise Closed
        own, places = self._under(record, request)
        room = None if self._room is None else self._room.of(caller.owner)
        guard, path = _found(own, room, record, request)
        # A path is normalized once, so that every reply and hint shows one spelling.
        if path != request.path:
            request = replace(request, path=path)
        if isinstance(request, MoveRequest):
            _, destination = _found(own, room, record, replace(request, path=request.destination))
            request = replace(request, destination=destination)
        try:
            return self._performed(guard, places, room, request, cap, deadline)
        except NotFound as error:
            raise with_near_names(error, guard, room, request, deadline) from None

    def _where(self, store: str | None, caller: Caller, deadline: Deadline) -> Workspace:
        """The workspace of a call: this one, or a store in memory of the same conversation.

        The one without a name begins as a copy of the folder; where there is none, this is in memory.
        """
        if store is None or (not store and self.guard.folder is None):
            return self

        def make() -> Workspace:
            if store:
                held = MemoryStore(most_bytes=STORE_BYTES)
            else:
                from readroom.engine.snapshot import snapshot

                held = snapshot(self.guard, deadline.within(self.limits.list_timeout_s))
            return Workspace(held, settings=config.in_memory(self.settings))

        return self._instances.of((caller.token, caller.session, store), make)

    def _under(self, record: Contract, request: Request) -> tuple[Guard, Places]:
        """The store as a call of a contract may see and change it."""
        layers = (*record.layers, *record.change_layers) if changes(request) else record.layers
        if not layers:
            return self.guard, self.places
        with self._making:
            found = self._narrowed.get(layers)
            if found is None:
                own = self.guard.narrowed(layers)
                found = self._narrowed[layers] = (own, config.places(own, self.settings))
        return found

    def _performed(
        self,
        guard: Guard,
        places: Places,
        room: OwnRoom | None,
        request: Request,
        cap: Cap,
        deadline: Deadline,
    ) -> Result:
        match request:
            case ReadRequest():
                within = deadline.within(self.limits.read_timeout_s)
                asked = (self.limits, cap, request, within, self._document_room)
                look = partial(read, guard, self._indexes, self._texts, self._outlines, *asked)
                return look() if room is None or guard is not room.guard else room.read(look)
            case GrepRequest():
                from readroom.engine.grep import grep

                documents = self._document_room
                return grep(guard, self._indexes, self.limits, cap, request, deadline, documents=documents)
            case ListRequest():
                from readroom.engine.listing import list_folder

                return list_folder(guard, self.limits, cap, request, deadline)
            case EditRequest() | EditFilesRequest() | WriteRequest():
                from readroom.engine.changing import change

                within = deadline.within(self.limits.change_timeout_s)
                return change(places, self._texts, cap, request, within)
            case BytesRequest():
                from readroom.engine.open_bytes import open_bytes

                return open_bytes(guard, request)
            case RunRequest():
                if room is None:
                    raise self._commands_off()
                return room.run(cap, request, deadline)
            case StatRequest() | DeleteRequest() | MakeFolderRequest() | MoveRequest() | TrashRequest():
                from readroom.engine.names import perform

                within = deadline.within(self.limits.change_timeout_s)
                return perform(guard, places, self._texts, cap, request, within)
            case _:
                assert_never(request)

    def _document_room(self) -> DocumentRoom:
        """What is kept of documents; made when the first is read."""
        from readroom.engine.document_room import DocumentRoom

        with self._making:
            if self._documents is None:
                self._documents = DocumentRoom()
            return self._documents

    def _commands_off(self) -> CommandsOff | NoFolder:
        """Why there is nowhere for commands to run."""
        policy = self.settings.commands
        if policy.forbidden_by:
            return CommandsOff(f"{policy.forbidden_by} of this folder forbids it")
        return NoFolder(self._store.name) if policy.enabled else CommandsOff("nobody has allowed it")


def _found(own: Guard, room: OwnRoom | None, record: Contract, request: Request) -> tuple[Guard, WorkPath]:
    """The guard of what a path means, and its normal form."""
    if room is None:
        return own, own.parse(request.path)
    output = room.parse(request.path)
    if output is None:
        path = own.parse(request.path)
        output = room.named_inside(path, own) if record.holds_outputs else None
        if output is None:
            return own, path
    if is_edit(request):
        raise Protected(output, "it is the kept output of a command")
    if isinstance(request, RunRequest):
        raise BadValue("cwd", output, "is no folder of the workspace", "Leave it out to start in the root.")
    return room.guard, output
