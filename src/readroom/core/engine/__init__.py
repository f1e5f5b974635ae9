"""The engine: takes requests, returns results.

Each verb is a folder or module with a function `perform(services, job)`.  The table of verbs
(`values/verbs.py`) names it, and no verb imports another.  This module resolves the paths of a request
and selects the services that its call gets.

Knows: how each verb turns a request into a result, one verb per folder or module.
Does not know: faces, and how contracts word results. It reads files through the guard only.
May be touched: `read` and `grep` with a run of the benchmarks, `documents.worker` with a security
    review.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.deadline import Deadline
from readroom.core.engine.services import ArchiveOpener, Documents, Job, OwnCommands, Services
from readroom.core.engine.suggest import (
    about,
    with_near_names,
    with_note,
    with_place_inside,
    with_siblings,
    with_warnings,
)
from readroom.core.formats.kinds import is_archive_name
from readroom.core.formats.registry import provided, table
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath, may_lead_inside
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import COMPOSED, Guard
from readroom.core.policy.rules import Layer
from readroom.core.policy.rules.terms import NO_TERMS, Terms
from readroom.core.session.caches import OutlineCache, TextCache
from readroom.core.session.index_cache import IndexCache
from readroom.core.stores.spending import counting
from readroom.core.values import Cap, ListResult, ReadRequest, ReadResult, Request, Result
from readroom.core.values.changes import WriteRequest
from readroom.core.values.commands import RunRequest, RunResult, StartRequest
from readroom.core.values.files import Warn
from readroom.core.values.history import Author
from readroom.core.values.steps import AS_IT_IS, Steps
from readroom.core.values.verbs import BY_REQUEST, Verb, changes, function, is_edit

if TYPE_CHECKING:
    from readroom.core.engine.command import CommandService
    from readroom.core.engine.find.kept import KeptTexts
    from readroom.core.history import History
    from readroom.core.repository.repositories import Repositories


@final
class Engine:
    """Performs the requests of one workspace. Safe to share between threads."""

    def __init__(
        self,
        guard: Guard,
        targets: Callable[[Guard], WriteTargets],
        limits: Limits,
        indexes: IndexCache,
        commands: CommandService | None,
        commands_off: Callable[[], errors.ReadroomError],
        history: History | None = None,
    ) -> None:
        """Take ownership of guard, indexes, commands and history (None for none); `close` releases them."""
        self._targets = targets
        self._indexes = indexes
        self.commands = commands
        """The command service; None where commands do not run."""
        self._documents: Documents | None = None
        self._archives: ArchiveOpener | None = None
        self._found: KeptTexts | None = None
        self._repositories: Repositories | None = None
        self._making = threading.Lock()
        self._narrowed: dict[tuple[Layer, ...], Services] = {}
        self._closed = False
        self._half_done: list[Warn] = []
        """Parts of interrupted calls that could not be undone, for the next reply that can say so."""
        self.services = Services(
            guard=guard,
            targets=targets(guard),
            limits=limits,
            indexes=indexes,
            texts=TextCache(),
            outlines=OutlineCache(),
            found=self._kept_texts,
            documents=self._document_cache,
            archives=self._archive_room,
            repositories=self._git_repositories,
            commands=None,
            commands_off=commands_off,
            history=history,
        )
        """The services without commands and without rules of a contract."""

    def perform(
        self,
        request: Request,
        cap: Cap,
        deadline: Deadline,
        caller: Caller = ANONYMOUS,
        steps: Steps = AS_IT_IS,
        terms: Terms = NO_TERMS,
        origin: tuple[str, str] = ("", ""),
    ) -> Result:
        """Perform a request and return its result, which the contract has not formatted yet.

        Args:
            request: The request; its paths are as the caller wrote them.
            cap: The size limit of the reply.
            deadline: When the work must end.
            caller: The owner of the kept outputs.
            steps: The contract's decisions about a read.
            terms: Its decisions about paths; its rules apply in addition to those of the workspace.
            origin: Its name and that of its tool, for the history.

        Raises:
            ReadroomError: From the engine of the verb; a NotFound suggests existing names.
        """
        if self._closed:
            raise errors.Closed
        perform = self._perform
        if self.services.guard.masks:
            from readroom.core.engine import masking  # few operators mask

            perform = partial(masking.performed, perform)
        with counting() as cost:
            performed = perform(request, cap, deadline, caller, steps, terms, origin)
        return cost.told(performed) if isinstance(performed, ReadResult | ListResult) else performed

    def _perform(
        self,
        request: Request,
        cap: Cap,
        deadline: Deadline,
        caller: Caller,
        steps: Steps,
        terms: Terms,
        origin: tuple[str, str],
    ) -> Result:
        self.services.guard.store.require_root()
        self._half_done += map(about, self.services.guard.store.recover())
        services, verb = self._services(terms, request, caller), BY_REQUEST[type(request)]
        request, guard, respelled = _normal(services, verb, terms, request)
        own = services.guard
        if own.masks and verb.traces == "edit":
            from readroom.core.engine.masking import require_no_label  # few operators mask

            require_no_label(own, request)
        if guard is not own:
            services = replace(services, guard=guard)
        within = deadline
        if verb.time_limit is not None:
            within = deadline.within(getattr(services.limits, verb.time_limit))

        def part(asked: Request, room: Cap) -> Result:
            return self.perform(asked, room, within, caller, steps, terms, origin)

        services = self._recording(services, request, caller, origin, within)
        job = Job(request, cap, within, steps, part, caller)
        act = _inside if terms.archives and table().archives and guard is own else _performed
        if guard is own and verb.paths and _may_lead_into_git(request.path):
            act = partial(_at_revision, act)
        try:
            performed = _or_folder(act, services, job)
        except errors.NotFound as error:
            if steps.suggests is not None:
                raise with_siblings(error, guard, request, steps.suggests) from None
            raise with_near_names(error, services, request, deadline, archives=terms.archives) from None
        except errors.NotAFolder as error:
            if verb.traces == "edit":  # reading what is in the way does not help a change
                error.advice, error.next = "Choose a path that does not lead through it.", None
            raise
        finally:
            if services.recorder is not None:
                services.recorder.close()
        performed = _in_history(services, performed, caller, origin)
        performed = self._with_half_done(with_note(performed) if respelled else performed)
        if steps.fit is not None and isinstance(request, ReadRequest) and isinstance(performed, ReadResult):
            return steps.fit(request, performed, cap)
        return performed

    def _recording(
        self,
        services: Services,
        request: Request,
        caller: Caller,
        origin: tuple[str, str],
        deadline: Deadline,
    ) -> Services:
        """The services for a call, whose changes are kept where a history is."""
        history = services.history
        if history is None or not (_is_kept_run(history, request) or (is_edit(request) and changes(request))):
            return services
        recorder = history.recorder(services.guard, _author(caller, origin), deadline)
        return replace(services, targets=services.targets.recorded(recorder), recorder=recorder)

    def _with_half_done(self, performed: Result) -> Result:
        """The result with what of interrupted calls could not be undone, said once."""
        left, self._half_done = self._half_done, []
        return with_warnings(performed, left) if left else performed

    def close(self) -> None:
        """End commands and document processes, and release the indexes and the store."""
        self._closed = True
        if self.commands is not None:
            self.commands.close()
        if self._documents is not None:
            self._documents.close()
        if self._archives is not None:
            self._archives.close()
        if self._repositories is not None:
            self._repositories.close()
        self._indexes.close()
        if self.services.history is not None:
            self.services.history.close()
        self.services.guard.close()

    def _services(self, terms: Terms, request: Request, caller: Caller) -> Services:
        """The services for a call, with its contract's rules and its owner's commands."""
        layers = terms.layers
        if terms.change_layers and changes(request):
            layers = (*layers, *terms.change_layers)
        services = self._with_layers(layers)
        if self.commands is None:
            return services
        return replace(services, commands=self.commands.of(caller.owner))

    def under(self, terms: Terms) -> Services:
        """The services for reads, with the rules of a contract and without commands."""
        return self._with_layers(terms.layers)

    def _with_layers(self, layers: tuple[Layer, ...]) -> Services:
        return self.services if not layers else self._under(layers)

    def _under(self, layers: tuple[Layer, ...]) -> Services:
        with self._making:
            services = self._narrowed.get(layers)
            if services is None:
                guard = self.services.guard.narrowed(layers)
                services = replace(self.services, guard=guard, targets=self._targets(guard))
                self._narrowed[layers] = services
        return services

    def _kept_texts(self) -> KeptTexts:
        from readroom.core.engine.find.kept import KeptTexts

        with self._making:
            if self._found is None:
                self._found = KeptTexts()
            return self._found

    def _git_repositories(self) -> Repositories:
        """The repositories, found on first use."""
        from readroom.core.repository.repositories import Repositories

        with self._making:
            if self._repositories is None:
                self._repositories = Repositories()
            return self._repositories

    def _archive_room(self) -> ArchiveOpener:
        """The opener of archives, made on first use."""
        with self._making:
            if self._archives is None:
                self._archives = provided("archives")(self.services.limits, self._indexes.expansions)
            return self._archives

    def _document_cache(self) -> Documents:
        """The document cache, made on first use."""
        with self._making:
            if self._documents is None:
                self._documents = provided("documents")()
            return self._documents


def _is_kept_run(history: History, request: Request) -> bool:
    """Whether it is a command that shall be undone."""
    return isinstance(request, RunRequest) and history.policy.commands == "overlay"


def _in_history(services: Services, performed: Result, caller: Caller, origin: tuple[str, str]) -> Result:
    """The result, with what a command changed noted in the history."""
    if services.history is None or not isinstance(performed, RunResult) or not performed.changes.named:
        return performed
    if performed.changes.apart:
        return performed  # what the command changed is there by now
    from readroom.core.engine.command.kept import kept

    return kept(services.history, _author(caller, origin), performed)


def _author(caller: Caller, origin: tuple[str, str]) -> Author:
    """Who makes the changes of a call."""
    contract, tool = origin
    return Author(
        caller.agent,
        caller.token,
        caller.session,
        caller.face,
        contract,
        tool,
        caller.call,
        caller.traceparent,
    )


def _performed(services: Services, job: Job[Request]) -> Result:
    result: Result = function(BY_REQUEST[type(job.request)].perform)(services, job)
    return result


def _or_folder(
    act: Callable[[Services, Job[Request]], Result], services: Services, job: Job[Request]
) -> Result:
    """Perform a request; a read of a folder is its listing, if the contract says which."""
    try:
        return act(services, job)
    except errors.NotAFile as error:
        if job.steps.folder is None or error.facts["what"] != "folder":
            raise
        assert isinstance(job.request, ReadRequest)
        return act(services, replace(job, request=job.steps.folder(job.request)))


def _inside(services: Services, job: Job[Request]) -> Result:
    """Perform a request, inside the archive that its path leads into, if any."""
    request = job.request
    if may_lead_inside(request.path) or _is_about_members(request):
        inside: Result = provided("perform_inside")(services, job, _performed)
        return inside
    try:
        return _performed(services, job)
    except (errors.Binary, errors.NotAFolder) as error:
        instead: Result = provided("perform_instead")(services, job, _performed, error)
        return instead


def _may_lead_into_git(path: str) -> bool:
    """Whether a path may lead into a revision, which `engine.revision` decides."""
    return "@" in path or ":" in path


def _at_revision(
    act: Callable[[Services, Job[Request]], Result], services: Services, job: Job[Request]
) -> Result:
    """Perform a request, at the revision that its path leads into, if any."""
    from readroom.core.engine import revision  # few paths lead into one

    return revision.perform(services, job, act)


def _is_about_members(request: Request) -> bool:
    """Whether a request may be about members of an archive without a path that leads into one."""
    verb = BY_REQUEST[type(request)]
    if verb.in_archives == "folder":
        return is_archive_name(request.path)
    return any(may_lead_inside(getattr(request, name)) for name in verb.paths[1:])


def _place(
    commands: OwnCommands, own: Guard, terms: Terms, request: Request, spelled: str
) -> tuple[Guard, WorkPath]:
    """The guard for a path of a request, which may be a kept output, and the normal form of the path."""
    output = commands.parse(spelled)
    if output is None:
        path = own.parse(spelled)
        output = commands.named_inside(path, own, terms.outputs) if terms.outputs else None
        if output is None:
            return own, path
    if is_edit(request):
        raise errors.Protected(output, "it is the kept output of a command")
    if isinstance(request, RunRequest | StartRequest):
        raise errors.BadValue(
            "cwd", output, "is not a folder of the workspace", "Leave it out to start in the root."
        )
    return commands.guard, output


def _normal(services: Services, verb: Verb, terms: Terms, request: Request) -> tuple[Request, Guard, bool]:
    """A request with normal paths, the guard of the first, and whether a folder spells one otherwise."""
    own = guard = services.guard
    respelled = False
    for name in verb.paths:
        spelled, there = getattr(request, name), own
        if isinstance(request, WriteRequest) and spelled.removesuffix('"').endswith("/"):
            advice = "Leave out the slash; folders above a file are made with it."
            raise errors.BadPath(spelled, "ends with a slash, as names of folders do", advice)
        try:
            if services.commands is None:
                path = own.parse(spelled)
            else:
                there, path = _place(services.commands, own, terms, request, spelled)
        except errors.OutsideRoot as error:
            raise with_place_inside(error, own, request, spelled) from None
        if name == verb.paths[0]:
            guard = there
        if there is own and not (path.isascii() and COMPOSED.isdisjoint(path)):
            asked, path = path, own.spelled(path)
            respelled = respelled or asked != path
        # A path is normalized once, so that every reply and hint shows one spelling.
        if path != spelled:
            request = replace(request, **{name: path})
    return request, guard, respelled
