"""The contract of inspect_agents: `read_file`, and `files` with a command for everything else.

There are two places for files. In store mode, the default, files are in memory, one store for each
`instance`, and names are opaque: `/etc/passwd` is a key like any other. In sandbox mode
(`INSPECT_AGENTS_FS_MODE`) they are those of the workspace, whose root callers write as
`INSPECT_AGENTS_FS_ROOT`. Offsets count from 0.

The allow and deny lists have the syntax of Python's `fnmatch`: unlike in ignore files, `*` also matches a
slash, and a pattern matches whole paths.

Knows: the tools of the original, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from readroom.contracts.inspect_agents import render as inspect_render
from readroom.contracts.inspect_agents.calls import FILES, READ, path_of, to_call
from readroom.contracts.inspect_agents.render import CallWords
from readroom.contracts.inspect_agents.settings import InspectSettings, settings_of
from readroom.core import limits
from readroom.core.contracts import Setup, json_replies
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.errors import Protected, TooLarge
from readroom.core.policy.rules import Layer, Rule
from readroom.core.policy.rules.gitignore import byte_text
from readroom.core.policy.rules.names import foldable
from readroom.core.policy.rules.terms import Terms
from readroom.core.values import Call, ListRequest, ReadRequest, Request, changes
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import AS_IT_IS, Steps, TextUpTo

LINES = 2000
"""Lines of a read without a limit; as documented."""

REPLY_BYTES = 256 * 1024
"""Text of a reply. The original has no limit: 2,000 lines of 120 characters with their numbers are shown
whole, as documented; larger ones are cut with the offset that continues them."""

LINE_CHARS = 2000
"""Length of one line, as documented."""

IMPLICIT = "<implicit-allow>"
"""The rule that is named when a path is in no allow list."""


class FnmatchLayer(Struct, frozen=True, dict=True):
    """A layer of patterns: it denies paths that one of them matches, regardless of case.

    With `allows` it denies every file that none of them matches; folders are passed through.
    """

    globs: tuple[str, ...]
    source: str
    allows: bool = False

    @cached_property
    def _patterns(self) -> Sequence[re.Pattern[str]]:
        globs = self.globs if self.allows else [foldable(glob).lower() for glob in self.globs]
        return [re.compile(fnmatch.translate(byte_text(glob))) for glob in globs]

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        name = path if self.allows else folded
        glob = next((at for at, one in zip(self.globs, self._patterns, strict=True) if one.match(name)), None)
        if self.allows:
            unlisted = Rule(IMPLICIT, self.source, "not in the list of allowed names")
            return None if folder or glob is not None else unlisted
        return None if glob is None else Rule(glob, self.source, "denied by configuration")

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """All: a pattern may name the folders above."""
        return range(len(folded))


Offset = Annotated[int, Meta(ge=0, description="First line, from 0")]
Limit = Annotated[int, Meta(ge=1, description="Lines")]
Instance = Annotated[str, Meta(description="Store that the files are in; a sandbox has one for all")]


class ReadFileArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    file_path: str
    offset: Offset = 0
    limit: Limit | None = None
    instance: Instance | None = None


class _Params(msgspec.Struct, frozen=True, kw_only=True, tag_field="command"):
    """Parameters of all commands of `files`."""

    instance: str | None = None


class Ls(_Params, frozen=True, kw_only=True, tag="ls"):
    """Names of all files of a store, or of the root of a sandbox."""


class Read(_Params, frozen=True, kw_only=True, tag="read"):
    """Numbered lines."""

    file_path: str
    offset: Offset = 0
    limit: Limit | None = None


class Write(_Params, frozen=True, kw_only=True, tag="write"):
    """A whole file."""

    file_path: str
    content: str


class Replace(_Params, frozen=True, kw_only=True, tag="edit"):
    """Replacement of a text, once or everywhere."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False
    dry_run: bool = False
    expected_count: Annotated[int, Meta(ge=0)] | None = None


class Delete(_Params, frozen=True, kw_only=True, tag="delete"):
    """A file, in store mode."""

    file_path: str


class Trash(_Params, frozen=True, kw_only=True, tag="trash"):
    """A file, to the folder .trash."""

    file_path: str


class Mkdir(_Params, frozen=True, kw_only=True, tag="mkdir"):
    """A folder."""

    dir_path: str


class Move(_Params, frozen=True, kw_only=True, tag="move"):
    """A file, to another name."""

    src_path: str
    dst_path: str


class Stat(_Params, frozen=True, kw_only=True, tag="stat"):
    """Whether a path exists, and its kind."""

    path: str
    dry_run: bool = False


_NAMED: Mapping[type, tuple[str, str]] = {
    Ls: ("", ""),
    Mkdir: ("dir_path", ""),
    Move: ("src_path", "dst_path"),
    Stat: ("path", ""),
    Read: ("file_path", "offset"),
    Replace: ("file_path", "old_string"),
}
"""The parameters that words about a command repeat, where they are not `file_path` alone."""

Params: TypeAlias = Ls | Read | Write | Replace | Delete | Trash | Mkdir | Move | Stat


class FilesArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of files."""

    params: Params


_PLACES = {
    "store": "Files are in memory, in a store of their own for each `instance`.",
    "sandbox": "Files are those of the sandbox.",
}
"""Where the files are, in words for models."""

_NOTICES = {
    "store": "inspect_agents: store mode. Files are in memory, in one store for each `instance`; the one "
    "without a name begins as a copy of the folder, and nothing is written to disk. "
    "INSPECT_AGENTS_FS_MODE=sandbox works in the folder itself.",
    "sandbox": "inspect_agents: sandbox mode (INSPECT_AGENTS_FS_MODE). Changes are made in the folder, "
    "nothing is deleted there, and `instance` makes no difference.",
}
"""The same in words for the person who starts a server."""


def made(setup: Setup) -> Contract:
    """The record for a workspace."""
    inspect = settings_of(setup)
    variant = _Variant(inspect)
    denials: tuple[Layer, ...] = (FnmatchLayer(inspect.deny, "INSPECT_FS_DENY"),) if inspect.deny else ()
    allowed: tuple[Layer, ...] = ()
    if inspect.allow:
        allowed = (FnmatchLayer(inspect.allow, "INSPECT_FS_ALLOW", allows=True),)
    holds = inspect.allow_holds_for_reads
    call_words = variant.words_of("read", "")
    return Contract(
        name="inspect_agents",
        title="inspect_agents files",
        instructions=_PLACES["store" if variant.in_store else "sandbox"],
        notice=_NOTICES["store" if variant.in_store else "sandbox"],
        tools=(variant.read_file(), variant.files()),
        reply_bytes=REPLY_BYTES,
        raisable=True,
        measure=inspect_render.MEASURE,
        render=partial(inspect_render.render, call_words),
        render_error=partial(inspect_render.render_error, call_words),
        to_call=variant.to_call,
        remark=json_replies.remark,
        terms=Terms((*denials, *allowed)) if holds else Terms(denials, allowed),
        seconds=inspect.seconds,
    )


class _Variant:
    """Facts that the tools share: where the files are, and their names."""

    def __init__(self, own: InspectSettings) -> None:
        self._setup = own
        self.in_store = self._setup.mode != "sandbox" or self._setup.preflight == "skip"

    def to_call(self, request: Request) -> Call | None:
        return to_call(request, in_store=self.in_store)

    def words_of(self, op: str, path: str, other: str = "") -> CallWords:
        return CallWords(self._setup, self.in_store, op, path, other, self.to_call)

    def read_file(self) -> Tool:
        return Tool(
            name=READ,
            title="Read a file",
            description=(
                "Read lines of a file, numbered like cat -n. "
                f"At most {LINES} lines without a limit; "
                f"lines are cut at {LINE_CHARS} characters."
            ),
            arguments=ReadFileArguments,
            to_request=self._to_read,
            wording=lambda arguments: self._wording(
                self.words_of("read", arguments.file_path, str(arguments.offset))
            ),
            steps=self._steps,
            store=lambda arguments: self._store(arguments.instance),
        )

    def files(self) -> Tool:
        return Tool(
            name=FILES,
            title="Work with files",
            description=(
                "List, read, write, edit, delete, trash, make folders, move, stat: `command` says which. "
                "An edit replaces a text that occurs once, unless replace_all."
            ),
            arguments=FilesArguments,
            to_request=lambda arguments: self._to_request(arguments.params),
            read_only=False,
            idempotent=False,
            render_error=partial(inspect_render.render_invalid, self.words_of("", "")),
            wording=lambda arguments: self._wording(self._call_words(arguments.params)),
            steps=lambda arguments: (
                self._steps(arguments.params) if isinstance(arguments.params, Read) else AS_IT_IS
            ),
            store=lambda arguments: self._store(arguments.params.instance),
        )

    def _wording(self, call_words: CallWords) -> Wording:
        return Wording(
            partial(inspect_render.render, call_words), partial(inspect_render.render_error, call_words)
        )

    def _store(self, instance: str | None) -> str | None:
        return (instance or "") if self.in_store else None

    def _call_words(self, params: Params) -> CallWords:
        path, other = _NAMED.get(type(params), ("file_path", ""))
        op = str(params.__struct_config__.tag)
        return self.words_of(op, getattr(params, path, ""), str(getattr(params, other, "")))

    def _path(self, name: str) -> str:
        return path_of(name, self._setup.root, in_store=self.in_store)

    def _steps(self, arguments: ReadFileArguments | Read) -> Steps:
        # "Use a smaller limit" has to work: with a limit, a file of any size is read.
        most = self._setup.max_bytes if arguments.limit is None else None
        return Steps(TextUpTo(most), expands=False, links=self.in_store)

    def _to_read(self, arguments: ReadFileArguments | Read) -> ReadRequest:
        options = ReadOptions(line_chars=LINE_CHARS, rests=False, blank_whole=True)
        return ReadRequest(
            self._path(arguments.file_path),
            offset=arguments.offset + 1,
            limit=arguments.limit or LINES,
            options=options,
        )

    def _to_request(self, params: Params) -> Request:
        match params:
            case Read():
                return self._to_read(params)
            case Ls():
                every = REPLY_BYTES
                if self.in_store:
                    depth = limits.LIST_MAX_DEPTH
                    return ListRequest(depth=depth, include=frozenset(("ignored",)), sort="made", limit=every)
                return ListRequest(include=frozenset(("ignored",)), limit=every)
            case Stat():
                return changes.StatRequest(self._path(params.path))
        return self._to_change(params)

    def _to_change(self, params: Write | Replace | Delete | Trash | Mkdir | Move) -> Request:
        most = self._setup.max_bytes
        if not self.in_store and self._setup.read_only:
            raise Protected(self._call_words(params).path, "INSPECT_AGENTS_FS_READ_ONLY is set")
        match params:
            case Write():
                size = len(params.content.encode("utf-8", "replace"))
                if size > most:
                    raise TooLarge("content", size, most, "bytes", "Write smaller files.")
                return changes.WriteRequest(self._path(params.file_path), params.content, None)
            case Replace():
                edit = changes.Edit(
                    params.old_string, params.new_string, params.replace_all, params.expected_count
                )
                path = self._path(params.file_path)
                return changes.EditRequest(path, None, (edit,), dry_run=params.dry_run, most_bytes=most)
            case Delete():
                if not self.in_store:
                    raise Protected(params.file_path, "nothing is deleted in sandbox mode")
                return changes.DeleteRequest(self._path(params.file_path))
            case Trash():
                return changes.TrashRequest(self._path(params.file_path))
            case Mkdir():
                return changes.MakeFolderRequest(self._path(params.dir_path))
            case Move():
                return changes.MoveRequest(self._path(params.src_path), self._path(params.dst_path))
