"""The public entry point: `Workspace` turns (contract, tool, arguments) into a reply.

Every face and every library method (`core.methods`) goes through `Workspace.call`, or through `perform`,
which raises, so the same call gives the same reply everywhere.  Failures are caught here, once, and worded
by the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readroom.core import config, errors
from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.closeable import Closeable
from readroom.core.contracts import Setup, contract
from readroom.core.contracts.base import Bound, Contract, Tool
from readroom.core.deadline import Deadline
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.limits.session import STORE_BYTES
from readroom.core.log import log
from readroom.core.methods.following import AsBefore
from readroom.core.methods.plain import ToolMethods
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.session.conversation import Session, State
from readroom.core.session.gatekeeper import CallContext
from readroom.core.session.meter import counted
from readroom.core.values import Cap, Fact, ReadResult, Reply, Request
from readroom.core.values.history import DiffRequest, HistoryRequest, UndoRequest
from readroom.core.values.verbs import BY_REQUEST, changes

if TYPE_CHECKING:
    from readroom.core.config.roots import RootLike
    from readroom.core.contracts.offer import Offer
    from readroom.core.engine import Engine
    from readroom.core.session.first_words import FirstWords
    from readroom.core.session.instances import Instances
    from readroom.core.since import Since
    from readroom.core.since.authors import Authors
    from readroom.core.stores.promises import Promises


class Workspace(ToolMethods, Closeable):
    """A folder (or another store) with its policy, limits and session.

    Safe to share between threads.  Use as a context manager or call `close`.
    """

    def __init__(
        self,
        root: RootLike,
        *others: RootLike,
        settings: config.Settings | None = None,
        state: State | None = None,
    ) -> None:
        """Open a workspace.

        Args:
            root: A local folder, or a store.
            others: More folders or stores, each a folder of its own name in paths: `NAME=PATH`, `PATH:ro` for
                one in which nothing may be changed, or a `config.roots.RootOption`.
            settings: Policy and limits from `config.load`, or with others from `config.loaded`; without it
                those of the roots.
            state: What other processes of the same server know; closing it stays with the caller.

        Raises:
            NotFound, NotAFolder: There is no such folder.
            BadValue: The folders cannot be served together.
            BadConfig: A `readroom.toml` or an ignore file in them cannot be used.
        """
        self._store, options = config.open_roots(root, others)
        self.settings = config.complete(self._store, options, settings)
        self.limits = self.settings.limits
        self.state = state
        self.engine = config.engine(self._store, self.settings, state)
        self.gatekeeper = config.gatekeeper(self._store, self.settings, state)
        self._views = config.views(self.engine, self.settings)
        self.reviews = None if self._views is None else self._views.reviews
        self._records: dict[str, Contract] = {}
        self.folders = config.folders_of(self._store, self.settings)
        self._first: FirstWords | None = None
        if self.folders:
            from readroom.core.session.first_words import of_folders  # few workspaces have several

            facts = [one.facts for one in self.folders]
            self._first = of_folders(config.about_folders(self.folders), facts, self.gatekeeper)

    @property
    def promises(self) -> Promises:
        """The promises of its store and who keeps them: `confinement`, race-free opening, exchange, locks."""
        return self._store.promises

    @property
    def runs_commands(self) -> bool:
        """Whether policy allows commands."""
        return self.engine.commands is not None

    @property
    def guard(self) -> Guard:
        """The guard of its files."""
        return self.engine.services.guard

    @property
    def targets(self) -> WriteTargets:
        """Finds the files that may be changed."""
        return self.engine.services.targets

    def view(self, caller: Caller) -> Engine:
        """The engine that shows a caller the files: as they are, or with its own changes that wait."""
        return self.engine if self._views is None else self._views.of(caller)

    def tools(self, contract_name: str = "native", caller: Caller = ANONYMOUS) -> tuple[Offer, ...]:
        """The tools that this workspace offers, each with its schema and a `handler` that calls it."""
        call = partial(self.call, contract_name=contract_name, caller=caller)
        from readroom.core.contracts.offer import Offer  # for programs that host a model

        return tuple(Offer(tool, call) for tool in self.offered(contract_name))

    def offered(self, contract_name: str = "native") -> tuple[Tool, ...]:
        """The records of the tools; those that run commands only where policy allows it."""
        return self.contract(contract_name).offered(commands=self.runs_commands)

    def contract(self, name: str) -> Contract:
        """The contract of that name, configured for this workspace. Raises BadValue if there is none."""
        if name not in self._records:
            record = replace(contract(name, self.setup(name)), runs=self.runs_commands)
            if self.folders and self._first is not None:
                record = replace(record, instructions=f"{record.instructions} {self._first.words}".strip())
            if name == "native" and self.settings.history.tool:
                from readroom.core.contracts.native.past import PAST

                record = replace(record, tools=(*record.tools, PAST))
            self._records[name] = record
        return self._records[name]

    def setup(self, name: str = "native") -> Setup:
        """The setup of a contract for this workspace."""
        settings, roots = self.settings, self._store.roots or (Setup().root,)
        setup = Setup(roots[0], roots[-1], settings.contracts.get(name), settings.variables)
        if not settings.others:
            return setup
        from readroom.core.contracts.absolute import of_roots

        return of_roots(setup, config.paths_of_others(self._store))

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
            caller: Whose conversation it is, who pays for it, and who appears in the ledger.

        Raises:
            ReadroomError: Any class of `readroom.core.errors`.
        """
        record = self._records.get(contract_name) or self.contract(contract_name)
        cap = self._room(self.cap(record, reply_bytes, tool), caller)
        with CallContext(self.gatekeeper, caller, record, tool, arguments, cap) as visit:
            visit.news = self._news(record, caller, tool)
            bound = record.bind(tool, arguments)
            reply = self._answer(visit, record, bound, caller, deadline or Deadline())
        follow = AsBefore(self.perform, contract_name=contract_name, reply_bytes=reply_bytes, caller=caller)
        return replace(reply, follow=follow)

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
        images: bool = True,
    ) -> Reply:
        """Like `perform`, but a failure is a reply too, in the contract's words, for models.

        `granted` are the tools that the caller may use; None is all of them.  `reply_lines` is the most
        lines that its client passes on, `images` whether it passes on images.
        """
        record = self._records.get(contract_name) or self.contract(contract_name)
        cap = self.cap(record, reply_bytes, tool)
        if reply_lines is not None and record.by_lines:
            from readroom.core.contracts.base import in_lines  # few clients limit lines

            cap = in_lines(cap, reply_lines)
        if not images:
            cap = replace(cap, images=False)
        cap = self._room(cap, caller)
        with CallContext(self.gatekeeper, caller, record, tool, arguments, cap) as visit:
            visit.news = self._news(record, caller, tool)
            try:
                if granted is not None and record.tool(tool).name not in granted:
                    offered = record.offered(commands=record.runs)
                    raise errors.NotGranted(tool, [each.name for each in offered if each.name in granted])
                bound = record.bind(tool, arguments)
                if granted is not None and isinstance(bound.request, UndoRequest):
                    from readroom.core.contracts.history.rights import within  # few calls undo

                    bound = replace(bound, request=within(bound.request, granted))
                reply = self._answer(visit, record, bound, caller, deadline or Deadline())
                follow = AsBefore(
                    self.call,
                    contract_name=contract_name,
                    reply_bytes=reply_bytes,
                    reply_lines=reply_lines,
                    caller=caller,
                    granted=granted,
                    images=images,
                )
                return replace(reply, follow=follow)
            except errors.ReadroomError as error:
                return visit.refusal(error)
            except Exception as error:
                log().exception("call of %s failed", tool)
                return visit.refusal(errors.Internal(type(error).__name__))

    def session(self, session_id: str = "") -> Session:
        """The conversation of that id; call its `compacted` when the conversation was shortened."""
        return self.gatekeeper.session(session_id)

    def refuse(
        self,
        error: errors.ReadroomError,
        contract_name: str = "native",
        tool: str = "",
        *,
        reply_bytes: int | None = None,
    ) -> Reply:
        """The reply for an error that a face met before the call, in the contract's words."""
        record = self.contract(contract_name)
        return record.worded(tool, None).render_error(error, self.cap(record, reply_bytes, tool))

    def close(self) -> None:
        """Release the store, end document processes, and remove kept outputs and expanded files."""
        self.engine.close()
        self.gatekeeper.close()
        if "instances" in vars(self):
            self._instances.close()

    def cap(self, record: Contract, reply_bytes: int | None = None, tool: str = "") -> Cap:
        """The size limit of a tool's reply, and how the reply is measured.

        Args:
            record: Its contract.
            reply_bytes: What the caller's client passes on, when that is less.
            tool: Its name; there may be none of that name.
        """
        # None means that it was not set; a value counts even if it equals the default.
        size, set_size = record.cap_of(tool), self.limits.reply_bytes
        if set_size is not None:
            size = set_size if record.raisable else min(size, set_size)
        if reply_bytes is not None:
            size = min(size, reply_bytes)
        return Cap(max(size, MIN_REPLY_BYTES), record.measure)

    def _answer(
        self,
        visit: CallContext,
        record: Contract,
        bound: Bound,
        caller: Caller,
        deadline: Deadline,
    ) -> Reply:
        if record.seconds is not None:
            deadline = deadline.within(record.seconds)
        engine = self._engine_for(record, bound.request, caller)
        first = self._due(caller)
        if bound.store is not None:
            visit.news = None  # it is about files elsewhere
            engine = self._where(bound.store, caller, deadline).engine
        for attempt in visit.attempts(bound):
            try:
                result = engine.perform(
                    attempt.request,
                    attempt.cap,
                    deadline,
                    caller,
                    bound.steps,
                    record.terms,
                    (record.name, visit.tool),
                )
            except errors.NoOutline:
                if attempt.is_degraded:
                    continue  # without a reply: the next attempt returns counts only
                raise
            if self._views is not None and bound.store is None and engine is not self.engine:
                result = self._views.told(attempt.request, result)
            if not attempt.content and isinstance(result, BY_REQUEST[type(attempt.request)].result):
                result = counted(result, attempt.request)
            render = bound.wording.render
            if isinstance(result, ReadResult):
                reply = engine.services.texts.worded(result, attempt.cap, render)
            else:
                reply = render(result, attempt.cap)
            if (reply.images or reply.attached) and not attempt.cap.images:
                from readroom.core.contracts.native.render import without_images  # one known client needs it

                reply = record.remark(without_images(reply), "Not sent as an image: this client shows none")
            shown = reply.shown or result
            reply = visit.told(reply, shown)
            attempt.result, attempt.reply = shown, reply if first is None else first.said(reply, record)
        if attempt.result is not None and changes(attempt.request):
            self._authors.take(attempt.result, caller)
        reply = visit.settled()
        if first is not None:
            first.were_said(caller)
        return reply

    def _engine_for(self, record: Contract, request: Request, caller: Caller) -> Engine:
        """The engine for a call: people look into the past, and take changes back, in the folder itself."""
        of_the_past = record.name == "history" or isinstance(request, HistoryRequest | DiffRequest)
        return self.engine if of_the_past else self.view(caller)

    def _room(self, cap: Cap, caller: Caller) -> Cap:
        first = self._due(caller)
        return cap if first is None else first.room(cap, caller)

    def _due(self, caller: Caller) -> FirstWords | None:
        """The words at the end of the reply to that caller, if it is the first of its conversation."""
        if self._first is None:
            if caller is ANONYMOUS or caller.face == "cli":
                return None
            from readroom.core.session.first_words import of_store  # nobody reads it at a shell

            self._first = of_store(self.promises, self.gatekeeper)
        return self._first if self._first.are_due(caller) else None

    @property
    def _authors(self) -> Authors:
        """The authors of changes, known from the first call of a conversation on."""
        made: Authors | None = vars(self).get("authors")
        if made is None:
            from readroom.core.since.authors import Authors  # a command that reads asks for none

            # One of two threads wins, in one step.
            made = vars(self).setdefault(
                "authors", Authors(self.engine.services.history, self.gatekeeper.journal)
            )
        return made

    @property
    def _instances(self) -> Instances[Workspace]:
        """The stores in memory of this workspace."""
        made: Instances[Workspace] | None = vars(self).get("instances")
        if made is None:
            from readroom.core.session.instances import Instances  # few conversations have one

            made = vars(self).setdefault("instances", Instances[Workspace]())
        return made

    def _news(self, record: Contract, caller: Caller, tool: str) -> Since | None:
        """The changes since a conversation saw files; None without one, or if they cannot be seen."""
        if caller.hosts or not (caller.is_one_reader or caller.apart):
            return None
        if caller.face == "cli" and (tool not in record.by_name or record.by_name[tool].read_only):
            return None  # the process saw nothing before, and ends with this call
        from readroom.core.since import Since

        session = self.gatekeeper.session(caller.session)
        with suppress(errors.ReadroomError):  # the call itself says it
            return Since(self.view(caller).under(record.terms), session, caller, record, self._authors)
        return None

    def _where(self, store: str, caller: Caller, deadline: Deadline) -> Workspace:
        """The workspace for a call: this one, or a store in memory of the same conversation.

        The one without a name begins as a copy of the folder; without one, this workspace is in memory.
        """
        if not store and self.guard.folder is None:
            return self
        if self.state is not None and self.state.several:
            raise errors.OneProcess

        def make() -> Workspace:
            if store:
                from readroom.core.stores.memory import MemoryStore

                files = MemoryStore(most_bytes=STORE_BYTES)
            else:
                from readroom.core.engine.snapshot import snapshot

                files = snapshot(self.guard, deadline.within(self.limits.list_timeout_s))
            return Workspace(files, settings=config.in_memory(self.settings))

        return self._instances.of((caller.token, caller.session, store), make)
