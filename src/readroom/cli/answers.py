"""One tool call from the command line: opened, answered and printed; every failure is a reply."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.failures import command, exit_code_of, worded
from readroom.cli.roots import roots_of
from readroom.core.caller import Caller
from readroom.core.contracts import NAMES, contract
from readroom.core.contracts.native.calls import as_tool_call, spelled
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.quoting import quote
from readroom.core.values import Cap, Fact, Reply
from readroom.core.workspace import Workspace

if TYPE_CHECKING:
    from readroom.core.contracts.base import Contract

NATIVE = "native"

Found: TypeAlias = Callable[[Reply, Mapping[str, Fact]], bool]
"""Whether the reply to a call found anything."""


def path_argument(path: str) -> str:
    """A path as tools take it: bytes that are not UTF-8 cannot be sent otherwise than quoted."""
    return path if path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path) else quote(path)


class Where(Struct, frozen=True):
    """The root and the files of settings, as given; `lasting` is a workspace for more than one call."""

    root: str | None = None
    config: str | None = None
    allow_commands: bool = False
    lasting: bool = False
    front_matter: str | None = None
    mask_secrets: bool = False

    def open(self, state: Any = None) -> Workspace:
        """The workspace; `state` is shared with other processes of the same server.

        Raises:
            NotFound, NotAFolder, NoPermission: There is no such root.
            BadValue: The roots cannot be served together.
            BadConfig: A configuration file cannot be used.
        """
        from readroom.core import config

        first, *others = roots_of(self.root)
        store, options = config.open_roots(first, [*others, *config.further_roots(self.config)])
        settings = config.loaded(
            store,
            options,
            self.config,
            allow_commands=self.allow_commands,
            mask_secrets=self.mask_secrets,
            one_shot=not self.lasting,
            serving=self.lasting,
            contracts=None if self.front_matter is None else {"rnd": {"front_matter": self.front_matter}},
        )
        return Workspace(store, settings=settings, state=state)


def answer(where: Where, tool: str, arguments: object, **how: Any) -> Reply:
    """The reply to a call; a failure on the way is a reply as well. `how` is as `answers` takes it."""
    return next(answers(where, tool, [arguments], **how))


def answers(
    where: Where,
    tool: str,
    calls: Iterable[object],
    *,
    contract_name: str = NATIVE,
    reply_bytes: int | None = None,
    session: str = "",
    for_person: bool = False,
) -> Iterator[Reply]:
    """The replies to calls of one tool, each made on demand.

    A workspace that cannot be opened is the reply to all of them.  `for_person`
    words what can be done next as commands of a shell.
    """
    spelling = partial(command, root=where.root) if for_person else as_tool_call
    try:
        contract(contract_name)
        workspace = where.open()
    except ReadroomError as error:
        yield failure(error, contract_name)
        return
    with workspace:
        for arguments in calls:
            with spelled(spelling), output.ProgressLine(sys.stderr) as progress:
                try:
                    reply = workspace.call(
                        tool,
                        arguments,
                        contract_name=contract_name,
                        deadline=Deadline(progress=progress),
                        reply_bytes=reply_bytes,
                        caller=Caller(session=session, face="cli"),
                    )
                except ReadroomError as error:
                    reply = failure(error, contract_name)
            yield reply


def failure(error: ReadroomError, contract_name: str = NATIVE) -> Reply:
    """The reply for an error, in a contract's words; in the native ones if the contract is unknown."""
    record: Contract = contract(contract_name if contract_name in NAMES else NATIVE)
    return record.render_error(error, Cap(record.reply_bytes, record.measure))


def finish(
    reply: Reply,
    *,
    as_json: bool,
    root: str | None = None,
    arguments: Mapping[str, Fact] = MappingProxyType({}),
) -> ExitCode:
    """Print a reply, a failure on standard error; `arguments` as in `terminal.show`."""
    if as_json:
        output.show_result(reply)
    elif reply.is_error:
        output.complain(worded(reply.facts, root) + _meant(reply, arguments))
    else:
        output.show(reply.text, arguments)
    return exit_code_of(reply.facts) if reply.is_error else ExitCode.OK


def _meant(reply: Reply, arguments: Mapping[str, Fact]) -> str:
    """A line about a path that is not there, and was meant as something else; empty for other failures."""
    if exit_code_of(reply.facts) is not ExitCode.NOT_FOUND:
        return ""
    from readroom.cli import near

    line = near.in_place(arguments)
    return line and f"\n{line}"


def answer_each(
    where: Where, tool: str, calls: Sequence[Mapping[str, Fact]], has_found: Found, *, as_json: bool
) -> ExitCode:
    """The replies to the calls of one tool, printed one below the other.

    As with grep, a failure decides the exit code, then whether anything was found at all.
    """
    failed: ExitCode | None = None
    any_found = False
    replies = answers(where, tool, calls, for_person=not as_json)
    for number, (arguments, reply) in enumerate(zip(calls, replies, strict=False)):
        if number and not as_json:
            output.show("")
        code = finish(reply, as_json=as_json, root=where.root, arguments=arguments)
        if reply.is_error:
            failed = code if failed is None else failed
        else:
            any_found |= has_found(reply, arguments)
    return failed if failed is not None else ExitCode.OK if any_found else ExitCode.NOTHING_FOUND


def always(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    """For a tool whose replies are always a success."""
    return True
