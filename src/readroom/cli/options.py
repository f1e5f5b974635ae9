"""Options of commands, made from the arguments of tools: names, ranges, choices, descriptions and defaults.

The schema of a tool defines everything once; here are only the short options that people know from grep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
import msgspec

from readroom.cli.answers import path_argument
from readroom.cli.folders import Folder, RootType, joined_roots
from readroom.cli.remote import OPTION
from readroom.core.contracts.schema import properties
from readroom.core.values import Fact

_SHORT = {
    "ignore_case": "-i", "fixed": "-F", "multiline": "-U", "glob": "-g", "type": "-t", "context": "-C",
    "before": "-B", "after": "-A",
}  # fmt: skip

_WORDS = {
    "view": "outline: list definitions; formulas: show those of a workbook",
    "encoding": "Encoding of the text, if it is not detected correctly",
    "output": "How matches are shown",
    "ignore_case": "Ignore upper and lower case",
    "multiline": "Let the pattern match across lines",
    "timeout_s": "Time limit in seconds",
    "glob": "Only files that match, like *.py or !tests/**",
    "type": "Only files of a language, like py",
    "budget_tokens": "Maximum tokens of the reply",
    "documents": "Search PDF, Office, notebooks and mail as well",
    "explain": "Explain why each passage was chosen",
    "cursor": "Continue where an earlier reply ended",
    "include": "Include these files as well",
    "depth": "Levels of folders to list",
    "cwd": "Folder to start in",
    "by": "Show changes by lines, definition or file",
    "limit": "Maximum of entries",
    "path": "Relative to the root, or absolute inside it",
    "query": "A question, an error message or a name",
    "show": "changes, log or blame",
    "command": "A line for bash, or else sh",
    "content": "The whole text",
    "patch": "The text of a patch",
    "edits": "The replacements",
    "changes": "The changes, in their order",
    "dry_run": "Only show what would be changed",
    "wait_s": "Seconds to wait for its end or a line",
    "action": "delete, move, copy or mkdir",
    "to": "The whole new name, to move and copy",
    "expected_hash": "Hash of the file, from a reply",
    "new_text": "The text that takes its place",
    "replace_all": "Replace every place",
}
"""Help for arguments that a model knows by their names; words in the schema cost every session tokens."""


def parameters(
    arguments: type[msgspec.Struct], positional: tuple[str, ...], *, several_paths: bool = False
) -> list[click.Parameter]:
    """One parameter for every field, in their order; with `several_paths` any number of paths is taken."""
    made: list[click.Parameter] = []
    for field in msgspec.structs.fields(arguments):
        schema = properties(arguments)[field.encode_name]
        if field.encode_name in positional:
            made.append(_argument(field, schema, several=several_paths and field.encode_name == "path"))
        else:
            made.append(_option(field, schema))
    return made


def given(values: Mapping[str, Any]) -> dict[str, Fact]:
    """A tool's arguments from parsed options, without those that were left out."""
    arguments: dict[str, Fact] = {}
    for name, value in values.items():
        if value is None or value is False or value == ():
            continue
        arguments[name] = list(value) if isinstance(value, tuple) else value
    path = arguments.get("path")
    if isinstance(path, str):
        arguments["path"] = path_argument(path)
    return arguments


def given_for_each_path(values: Mapping[str, Any]) -> list[dict[str, Fact]]:
    """The arguments of one call for each path; of one call where none was given."""
    paths = values.get("path") or (None,)
    return [given({**values, "path": path}) for path in paths]


def option(names: str, words: str, **more: Any) -> click.Option:
    """An option, with blanks between its names; the help shows its default."""
    return click.Option(names.split(), help=words, **{"show_default": "default" in more, **more})


def flag(names: str, words: str) -> click.Option:
    """An option without a value."""
    return click.Option(names.split(), is_flag=True, help=words)


def _file(name: str, help_: str) -> click.Option:
    """An option that names a file; whether it can be read is seen where it is used."""
    return click.Option([name], type=click.Path(readable=False), metavar="FILE", help=help_)


def subcommand(
    name: str,
    work: Callable[..., int],
    *parameters: click.Parameter,
    words: str | None = None,
) -> click.Command:
    """A command that does `work`, with the docstring of that, or other `words`, as its help."""
    words = work.__doc__ if words is None else words
    return click.Command(name, params=list(parameters), callback=work, help=words)


def folder_argument(**more: Any) -> click.Argument:
    """A folder; the current one where none is named."""
    return click.Argument(["folder"], default=".", type=Folder(), metavar="[DIR]", **more)


def roots_argument(
    metavar: str = "[DIR] [NAME=DIR[:ro]]...", words: str = "As --root.", *, default: str | None = None
) -> click.Argument:
    """A folder, and more of them with names; one value (`roots`)."""
    return click.Argument(
        ["folder"],
        required=False,
        default=default and (default,),
        nargs=-1,
        type=RootType(),
        callback=joined_roots,
        metavar=metavar,
        help=words,
    )


def port_option(default: int) -> click.Option:
    """--port, for commands that listen on one."""
    return option(
        "--port", "Port to listen on; 0 chooses a free one.", type=click.IntRange(0, 65535), default=default
    )


def open_option(what: str) -> click.Option:
    """--open, for what asks for a token without it."""
    words = f"Do not ask for a token: every account on this machine can {what}."
    return flag("--open open_to_all", words)


def place_options() -> list[click.Parameter]:
    """--root and --config, which every command has."""
    return [
        option(
            "--root",
            "The workspace; paths are relative to it. Repeated: more folders, NAME=DIR, as NAME/... "
            "in paths; DIR:ro is read-only.",
            type=RootType(),
            metavar="DIR",
            multiple=True,
            callback=joined_roots,
            show_default="the current folder",
        ),
        config_option(),
    ]


def config_option() -> click.Option:
    """--config, the operator's file."""
    return _file("--config", "A configuration file with more settings and rules.")


def where_options() -> list[click.Parameter]:
    """--root, --config and --at, for commands that work in a folder here or on another machine."""
    words = (
        "Work on another machine: ssh://[user@]host[:port]/folder, docker:// or podman://container/folder."
    )
    # The command line is sent there as it is, before it is parsed here.
    at = click.Option([OPTION], help=words, metavar="ADDRESS", expose_value=False)
    return [*place_options(), at]


def database_option() -> click.Option:
    """--config, where it says which database servers share."""
    return _file("--config", "Configuration of a server that keeps its state in PostgreSQL.")


def commands_option() -> click.Option:
    """--allow-commands, where run_command can be called."""
    return flag("--allow-commands", "Let run_command run programs, confined to the folder.")


def mask_option() -> click.Option:
    """--mask-secrets, where calls of tools are answered."""
    return flag("--mask-secrets", "Show no keys and passwords that are known by their form.")


def front_matter_option() -> click.Option:
    """--front-matter, where the contract rnd can be called."""
    return _file("--front-matter", "Command file with the limits and paths for the contract rnd.")


def json_option(words: str = "Print the MCP tool result, one JSON object.") -> click.Option:
    """--json, for commands that print a text without it."""
    return flag("--json as_json", words)


def _argument(
    field: msgspec.structs.FieldInfo, schema: Mapping[str, Any], *, several: bool
) -> click.Argument:
    name = field.encode_name
    words = [schema.get("description"), _WORDS["path"] if name == "path" else words_about(name, schema)]
    return click.Argument(
        [field.name],
        required=field.required,
        nargs=-1 if several else 1,
        # Completion offers files; whether one exists is for the guard to say.
        type=click.Path(readable=False) if field.encode_name == "path" else click.STRING,
        help=". ".join(dict.fromkeys(filter(None, words))),
    )


def _option(field: msgspec.structs.FieldInfo, schema: Mapping[str, Any]) -> click.Option:
    name = field.encode_name
    names = [_SHORT[name]] if name in _SHORT else []
    several = schema.get("type") == "array" or "anyOf" in schema
    flag = schema.get("type") == "boolean"
    default = field.default
    if not isinstance(default, (str, int)) or flag:
        default = None
    return click.Option(
        [*names, "--" + name.replace("_", "-"), field.name],
        type=None if flag else _type(schema),
        is_flag=flag,
        multiple=several,
        default=default,
        show_default=default is not None,
        help=_help(name, schema, several),
    )


def _help(name: str, schema: Mapping[str, Any], several: bool) -> str | None:
    words = words_about(name, schema)
    if not several:
        return words
    return f"{words}; may be repeated" if words else "May be repeated"


def words_about(name: str, schema: Mapping[str, Any]) -> str | None:
    """The words for people about an argument; None without any."""
    described = (branch.get("description") for branch in (schema, *schema.get("anyOf", ())))
    return next(filter(None, described), None) or _WORDS.get(name)


def _type(schema: Mapping[str, Any]) -> click.ParamType[Any]:
    if "anyOf" in schema:
        return click.STRING
    if schema.get("type") == "array":
        return _type(schema["items"])
    if "enum" in schema:
        return click.Choice(schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema["type"] == "integer":
        return click.INT if low is high is None else click.IntRange(low, high)
    if schema["type"] == "number":
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        return click.FloatRange(
            low if above is None else above,
            high if below is None else below,
            min_open=above is not None,
            max_open=below is not None,
        )
    return click.STRING
