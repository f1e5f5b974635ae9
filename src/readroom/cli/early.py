"""`readroom mcp` in its plain forms, whose tools are listed before anything heavy is imported.

Anything unusual (settings in a file, another contract, an unknown option) is left to the full command, which
opens the workspace first.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from readroom.cli.remote import place
from readroom.core.release import CONFIG_FILE

PREPARED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "mcp", "prepared.json")
"""Contracts that are the same in every workspace, as clients see them; made by `python -m scripts.docs`."""


class Plain(msgspec.Struct):
    """The arguments: a folder, a contract, and whether commands may run."""

    folder: str = "."
    contract: str = "native"
    max_chars: int | None = None
    commands: bool = False


class Prepared(msgspec.Struct):
    """A contract as clients see it: `tools` without commands, `commands` the others."""

    title: str
    instructions: str
    tools: list[dict[str, Any]]
    commands: list[dict[str, Any]]


def run(arguments: Sequence[str]) -> int | None:
    """The exit code of `readroom mcp`; None when nothing was begun and the command proper has to."""
    plain = understood(arguments)
    if plain is None or not _is_usual(plain.folder):
        return None
    with open(PREPARED, "rb") as file:
        prepared = msgspec.json.decode(file.read(), type=dict[str, Prepared]).get(plain.contract)
    if prepared is None:
        return None
    try:
        return _served(plain, prepared)
    except Exception as error:
        from readroom.cli.failures import unexpected

        return unexpected(error)


def understood(arguments: Sequence[str]) -> Plain | None:
    """The plain meaning of the words after `mcp`; None when they have another, or none."""
    plain, words = Plain(), list(arguments)
    folders: list[str] = []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--contract", "--max-chars", "--root") and (equals or words):
            if not _set(plain, folders, name, value if equals else words.pop(0)):
                return None
        elif word == "--allow-commands":
            plain.commands = True
        elif word == "--" and len(words) <= 1:
            folders += words
            words = []
        elif word.startswith("-") or not word:
            return None
        else:
            folders.append(word)
    if len(folders) > 1:
        return None
    plain.folder = folders[0] if folders else plain.folder
    return plain


def _set(plain: Plain, folders: list[str], name: str, value: str) -> bool:
    if name == "--root":
        folders.append(value)
    elif name == "--contract":
        plain.contract = value
    elif value.isascii() and value.isdigit() and int(value) > 0:
        plain.max_chars = int(value)
    else:
        return False
    return bool(value)


def _is_usual(folder: str) -> bool:
    """Whether it is a folder, and nothing in it can change which tools there are."""
    return os.path.isdir(folder) and not os.path.lexists(os.path.join(folder, CONFIG_FILE))


def _served(plain: Plain, prepared: Prepared) -> int:
    from readroom.mcp.listing import capped, card, methods
    from readroom.mcp.stdio import Offer, instructions, serve

    tools = [*prepared.tools, *(prepared.commands if plain.commands else ())]
    served = methods(plain.contract)
    words = instructions(prepared.instructions, place.shown(plain.folder))
    server_card = card(prepared.title, words, served, shared=True)
    with ExitStack() as stack:
        offer = Offer(
            server_card,
            [capped(tool, plain.max_chars) for tool in tools],
            lambda: _opened(plain, stack),
        )
        serve(offer)
    return 0


def _opened(plain: Plain, stack: ExitStack) -> Any:
    """The result of `Offer.open`; the stack closes the workspace."""
    from readroom.cli.answers import Where
    from readroom.mcp.stdio import opened

    where = Where(plain.folder, allow_commands=plain.commands, lasting=True)
    workspace = stack.enter_context(where.open())
    server = opened(workspace, plain.contract, plain.max_chars, place.shown(plain.folder))
    # As the full command does: imported modules never become garbage.
    gc.freeze()
    gc.enable()
    return server
