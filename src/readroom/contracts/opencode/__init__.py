"""The contract of opencode, which is also that of Kilo 7: its tools for files, patches and commands.

Paths are absolute, below the real path of the root. An oldString that does not occur exactly is found by the
steps of the original, in its order (`matching`), but never where two places fit under one of them.

Knows: the tools of the original, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from readroom.contracts.opencode import patching
from readroom.contracts.opencode.command import MEASURE, Command
from readroom.contracts.opencode.names import Names
from readroom.contracts.opencode.render import Replies, measure
from readroom.contracts.opencode.requests import (
    BASH,
    EDIT,
    FOUND,
    GLOB,
    GREP,
    LINE_UNITS,
    LINES,
    READ,
    WRITE,
    Arguments,
    BashArguments,
    EditArguments,
    GlobArguments,
    GrepArguments,
    OpencodeSettings,
    ReadArguments,
    WriteArguments,
    steps_of,
    to_call,
    to_edit,
    to_glob,
    to_grep,
    to_read,
    to_run,
    to_write,
)
from readroom.contracts.opencode.words import Failed, failed, render_error
from readroom.core.contracts import Setup
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.paths import OUTPUTS
from readroom.core.policy.rules.terms import Terms
from readroom.core.values import Cap, Reply, Request, Result
from readroom.core.values.steps import Steps

REPLY_BYTES = 512 * 1024
"""Text of a reply. The original has other limits: 100 matches of 2,000 characters, or 51,200 empty lines with
their numbers, stay below this one."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The version of JSON Schema that the schemas of the original name."""


def made(setup: Setup) -> Contract:
    """The record for a workspace."""
    own = setup.own if isinstance(setup.own, OpencodeSettings) else OpencodeSettings()
    variant = _Variant(own, Names(setup.real))
    return Contract(
        name="opencode",
        title="opencode",
        instructions="",
        tools=(
            variant.read(),
            variant.glob(),
            variant.grep(),
            variant.edit(),
            variant.write(),
            variant.patch(),
        ),
        commands=(variant.bash(),),
        reply_bytes=REPLY_BYTES,
        measure=replace(measure(variant.names), output=MEASURE),
        render=variant.unknown,
        render_error=partial(render_error, Failed(variant.names, "")),
        to_call=partial(to_call, variant.names),
        terms=Terms(outputs=(OUTPUTS[1:],)),
        by_lines=True,
    )


class _Variant:
    """The tools in a workspace, as opencode or Kilo has them."""

    def __init__(self, own: OpencodeSettings, names: Names) -> None:
        self._own = own
        self.names = names
        self._replies = Replies(names, own.kilo)

    def unknown(self, result: Result, cap: Cap) -> Reply:
        """Never called: each tool has a wording of its own."""
        raise AssertionError(result)

    def read(self) -> Tool:
        def steps(arguments: ReadArguments) -> Steps:
            return replace(steps_of(self._own, arguments), fit=partial(self._replies.fit, arguments))

        return self._tool(
            READ,
            "Read a file or directory",
            f"Read a file as numbered lines (`N: text`), {LINES} by default, or a directory as names, with "
            f"`/` after directories. Lines are cut at {LINE_UNITS} characters. Images and PDFs are attached.",
            ReadArguments,
            partial(to_read, self._own, self.names),
            lambda arguments: partial(self._replies.read, arguments),
            steps=steps,
        )

    def glob(self) -> Tool:
        return self._tool(
            GLOB,
            "Find files by name",
            f'Paths of files that match a glob such as "**/*.js" or "src/**/*.ts", {FOUND} at most. '
            "Honours ignore files.",
            GlobArguments,
            partial(to_glob, self.names),
            lambda arguments: self._replies.glob,
        )

    def grep(self) -> Tool:
        return self._tool(
            GREP,
            "Search file contents",
            f"Lines that match a regular expression, by file, {FOUND} at most. Honours ignore files.",
            GrepArguments,
            partial(to_grep, self.names),
            lambda arguments: self._replies.grep,
        )

    def edit(self) -> Tool:
        return self._tool(
            EDIT,
            "Edit a file",
            "Replace oldString, which must occur once in the file, or everywhere with replaceAll. Leave out "
            "the numbers that read shows. An empty oldString creates a file.",
            EditArguments,
            partial(to_edit, self.names),
            lambda arguments: self._replies.edit,
            read_only=False,
            idempotent=False,
        )

    def write(self) -> Tool:
        return self._tool(
            WRITE,
            "Write a file",
            "Create a file, with the directories above it, or replace all of it.",
            WriteArguments,
            partial(to_write, self.names),
            lambda arguments: self._replies.write,
            read_only=False,
        )

    def patch(self) -> Tool:
        def wording(arguments: patching.OpencodePatch) -> Wording:
            return Wording(patching.render, partial(patching.render_error, self.names, arguments))

        return Tool(
            patching.PATCH,
            "Apply a patch",
            "Change several files as a patch says, all of them or none: `*** Begin Patch`, then "
            "`*** Update File: PATH`, `*** Add File: PATH` or `*** Delete File: PATH`, then `*** End Patch`.",
            patching.OpencodePatch,
            partial(patching.to_patch, self.names),
            read_only=False,
            idempotent=False,
            render_error=partial(patching.render_error, self.names, None),
            wording=wording,
            dialect=DIALECT,
        )

    def bash(self) -> Tool:
        return self._tool(
            BASH,
            "Run a command",
            "Run a command in bash (sh if missing). The end of a long output is shown; all of it is kept.",
            BashArguments,
            partial(to_run, self.names),
            lambda arguments: partial(Command(self._replies).render, arguments),
            read_only=False,
            idempotent=False,
        )

    def _tool(
        self,
        name: str,
        title: str,
        description: str,
        arguments: type[msgspec.Struct],
        to_request: Callable[[Any], Request],
        render: Callable[[Any], Callable[[Any, Cap], Reply]],
        **more: Any,
    ) -> Tool:
        def wording(given: Arguments) -> Wording:
            return Wording(render(given), partial(render_error, failed(self.names, name, given)))

        return Tool(
            name,
            title,
            description,
            arguments,
            to_request,
            render_error=partial(render_error, Failed(self.names, name)),
            wording=wording,
            dialect=DIALECT,
            **more,
        )
