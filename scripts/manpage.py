"""The manual page of the command line, made from its parser; the wheel brings docs/man/readroom.1 along."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from readroom.cli.commands import COMMANDS, GROUP
from readroom.cli.exits import MEANING, OF_RUN
from readroom.core.release import VERSION

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "man" / "readroom.1"

SUMMARY = "find, read, outline and safely change files without drowning a context window"


def text() -> str:
    """The page as roff, of the macros of man(7)."""
    lines = [
        f'.TH READROOM 1 "" "readroom {VERSION}" "User Commands"',
        ".SH NAME",
        f"readroom \\- {SUMMARY}",
        ".SH SYNOPSIS",
        ".B readroom",
        ".I COMMAND",
        r"[\fIOPTIONS\fR] [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_words(
            "The tools with which a language model finds, lists, reads and changes the files of a folder, "
            "for a person and for scripts; and the servers that hand them to clients of MCP and to programs. "
            "Every reply says what it left out and names the command that shows it."
        ),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = GROUP.get_command(click.Context(GROUP), name)
        assert command is not None
        lines += _command(f"readroom {name}", command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in MEANING.items():
        lines += [".TP", f".B {int(code)}", *_words(meaning)]
    lines += [".PP", *_words(f"{OF_RUN}.")]
    lines += [
        ".SH FILES",
        ".TP",
        ".I readroom.toml",
        *_words("Settings of a folder; readroom init writes one."),
    ]
    lines += [".TP", ".I .readroomignore", *_words("What no tool shows, in the syntax of gitignore.")]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    yield f".SS {_plain(name)}"
    # Those with commands of their own show them, and the options of each.
    for paragraph in inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n"):
        yield ".PP"
        yield from _words(paragraph)
    context = click.Context(command, info_name=name, **GROUP.context_settings)
    yield ".PP"
    yield from _words(" ".join([name, *command.collect_usage_pieces(context)]), bold=True)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield ".TP"
            yield from _words(record[0], bold=True)
            yield from _words(record[1] or " ")
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            below = command.get_command(context, inner)
            assert below is not None
            yield from _command(f"{name} {inner}", below)


def _words(words: str, *, bold: bool = False) -> Iterator[str]:
    line = _plain(re.sub(r"\s+", " ", words).strip())
    # A macro's argument is quoted; a line that begins like one is held apart.
    if bold:
        yield '.B "' + line.replace('"', "\\(dq") + '"'
    else:
        yield from (
            f"\\&{one}" if one.startswith((".", "'")) else one for one in re.split(r"(?<=[.;]) ", line)
        )


def _plain(words: str) -> str:
    return words.replace("\\", "\\e").replace("-", "\\-").encode("ascii", "xmlcharrefreplace").decode()
