"""The methods of a workspace that make one call each, written from the arguments of the tools.

An editor and a type checker read what is written and run nothing, so `readroom.core.methods` is text; what
each method takes, and the words about it, are those of its tool and of the command line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from readroom.cli.options import words_about
from readroom.core import methods
from readroom.core.contracts.base import Tool
from readroom.core.contracts.history.record import FORGET_CHANGES, LIST_CHANGES, SHOW_CHANGE, UNDO_CHANGES
from readroom.core.contracts.native import GREP_FILES, LIST_DIRECTORY, READ_FILE
from readroom.core.contracts.native.background import CHECK_COMMAND
from readroom.core.contracts.native.changes import EDIT_FILE, RUN_COMMAND, WRITE_FILE
from readroom.core.contracts.native.git import GIT_TOOL
from readroom.core.contracts.native.names import APPLY_PATCH, CHANGE_FILES, ChangeItem
from readroom.core.contracts.native.search import FIND_RELEVANT
from readroom.core.contracts.native.several import EditItem
from readroom.core.contracts.schema import properties

FOLDER = Path(str(methods.__file__)).parent

WIDTH = 110
"""Characters of a line, as `ruff format` has them."""

ITEMS: Mapping[type[msgspec.Struct], tuple[str, str]] = {
    EditItem: ("OneEdit", "One replacement of `edit` and `edit_files`."),
    ChangeItem: ("OneChange", "One change of `change`."),
}
"""What lists of arguments hold: the name of its type, and what that is."""

_ABSENT = "NotFound: There is no such file or folder."
_DENIED = "Denied: A rule of the policy denies it."
_NO_FILE = "NotAFile: It is a folder or a device."
_NO_FOLDER = "NotAFolder: It is a file that cannot be listed."
_BINARY = "Binary: It is neither text nor an image or a document."
_PATTERN = "BadPattern: The pattern cannot be used."
_CHANGED = "Stale: The file is no longer the one that the hash is of."
_NO_PLACE = "NoMatch, ManyMatches: A text is nowhere in the file, or in several places."
_TAKEN = "Exists: There is a file of that name already."
_ENTRIES = "WrongEntries: A folder holds another number of names."
_NO_PATCH = "BadPatch, HunkMissing, HunkAmbiguous: The patch cannot be read, or does not fit the files."
_NO_COMMANDS = "CommandsOff: Policy does not allow commands."
_NOT_STARTED = "NoSuchCommand: No command of that id was started."
_NO_CHANGE = "NoSuchChange: There is no change of that number."
_NOTHING = "NothingToUndo: Nothing that was changed is meant."
_SINCE = "ChangedSince: Files were changed since."
_USAGE = "UsageError: An argument is unknown, missing, of another type or not allowed."
_ANY = "ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`."


class Method(NamedTuple):
    """One method: its tool, the arguments that it names, and the first words about it.

    `required` are those that it wants though its tool does not, `fixed` those of the tool that it never has.
    """

    name: str
    tool: Tool
    named: tuple[str, ...]
    words: str
    raises: tuple[str, ...]
    required: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    past: bool = False

    @property
    def keywords(self) -> str:
        """The name of the type of its options."""
        return "".join(word.title() for word in self.name.split("_")) + "Keywords"

    @property
    def fields(self) -> dict[str, FieldInfo]:
        """The arguments of its tool."""
        return {each.encode_name: each for each in msgspec.structs.fields(self.tool.arguments)}

    @property
    def options(self) -> list[FieldInfo]:
        """Those that it takes as options."""
        return [each for name, each in self.fields.items() if name not in (*self.named, *self.fixed)]


METHODS = (
    Method("read", READ_FILE, ("path",), "Read a window of a file.", (_ABSENT, _DENIED, _NO_FILE, _BINARY)),
    Method("grep", GREP_FILES, ("pattern",), "Search the contents of files.", (_PATTERN, _ABSENT)),
    Method("find", FIND_RELEVANT, ("query",), "Find what best answers a question.", (_ABSENT,)),
    Method("list", LIST_DIRECTORY, ("path",), "List a folder.", (_ABSENT, _DENIED, _NO_FOLDER)),
    Method(
        "edit",
        EDIT_FILE,
        ("path", "expected_hash", "edits"),
        "Replace texts in a file: all of them, or none.",
        (_CHANGED, _NO_PLACE, _ABSENT, _DENIED),
        required=("path", "expected_hash"),
    ),
    Method(
        "edit_files",
        EDIT_FILE,
        ("edits",),
        "Edit several files, all or none: each edit names its `path` and `expected_hash`.",
        (_CHANGED, _NO_PLACE, _ABSENT, _DENIED),
        fixed=("path", "expected_hash"),
    ),
    Method(
        "write",
        WRITE_FILE,
        ("path", "content", "expected_hash"),
        "Create or replace a file.",
        (_CHANGED, _TAKEN, _DENIED),
    ),
    Method(
        "change",
        CHANGE_FILES,
        ("changes",),
        "Delete, move, copy and make folders, all or none.",
        (_CHANGED, _ENTRIES, _TAKEN, _ABSENT, _DENIED),
    ),
    Method(
        "patch",
        APPLY_PATCH,
        ("patch",),
        "Apply a unified diff or a V4A patch, all files or none.",
        (_NO_PATCH, _ABSENT, _DENIED),
    ),
    Method("git", GIT_TOOL, ("show", "path"), "Show changes, a log or a blame.", (_ABSENT, _DENIED)),
    Method("run", RUN_COMMAND, ("command",), "Run a command where policy allows it.", (_NO_COMMANDS,)),
    Method(
        "check",
        CHECK_COMMAND,
        ("id",),
        "Look at a command in the background, wait for it, or end it.",
        (_NOT_STARTED, _NO_COMMANDS),
    ),
    Method("history", LIST_CHANGES, ("path",), "List changes, newest first.", (), past=True),
    Method("diff", SHOW_CHANGE, ("change", "path"), "Show what a change did.", (_NO_CHANGE,), past=True),
    Method(
        "undo",
        UNDO_CHANGES,
        ("change",),
        "Take back changes, unless that loses later ones.",
        (_NO_CHANGE, _NOTHING, _SINCE),
        past=True,
    ),
    Method(
        "forget",
        FORGET_CHANGES,
        ("path",),
        "Remove the past of a file, a folder or everything, for good.",
        (),
        past=True,
    ),
)


# -----------------------------------------------------------------------------
# Types.
# -----------------------------------------------------------------------------


def spelled(kind: Any) -> str:
    """A type of an argument as an annotation."""
    origin, of = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return spelled(of[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(spelled(each) for each in of))
    if origin is Literal:
        return f"Literal[{', '.join(_quoted(each) for each in of)}]"
    if origin is list:
        return f"Sequence[{spelled(of[0])}]"
    if kind is NoneType:
        return "None"
    return ITEMS[kind][0] if kind in ITEMS else str(kind.__name__)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _optional(kind: str) -> str:
    return kind if kind.endswith(" | None") else f"{kind} | None"


def _key(field: FieldInfo) -> str:
    """The type of a key; one that may be left out may be None as well."""
    return f"Required[{spelled(field.type)}]" if field.required else _optional(spelled(field.type))


# -----------------------------------------------------------------------------
# Words.
# -----------------------------------------------------------------------------


def words_of(arguments: type[msgspec.Struct], field: FieldInfo) -> str:
    """One sentence about an argument: the words of the tool, or of the command line."""
    words = words_about(field.encode_name, properties(arguments)[field.encode_name])
    if words is None:
        raise AssertionError(f"no words for {field.encode_name} of {arguments.__name__}")
    told = "" if field.default in (None, False, msgspec.NODEFAULT) else f" (by default {field.default!r})"
    return f"{words.rstrip('.')}{told}."


def _paragraph(text: str, indent: int, hanging: int = 4) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _docstring(method: Method) -> Iterator[str]:
    yield f'        """{method.words}'
    yield ""
    yield "        Args:"
    for name in method.named:
        yield _paragraph(f"{name}: {words_of(method.tool.arguments, method.fields[name])}", 12)
    if method.options:
        yield f"            options: Others of the tool `{method.tool.name}`:"
        for field in method.options:
            words = words_of(method.tool.arguments, field)
            yield _paragraph(f"`{field.encode_name}`: {words}", 16)
    yield ""
    yield "        Raises:"
    for words in (*method.raises, _USAGE, _ANY):
        yield _paragraph(words, 12)
    yield '        """'


# -----------------------------------------------------------------------------
# Modules.
# -----------------------------------------------------------------------------


def _parameters(method: Method) -> Iterator[str]:
    yield "self"
    yield "/"
    for name in method.named:
        field = method.fields[name]
        if field.required or name in method.required:
            yield f"{name}: {spelled(field.type).removesuffix(' | None')}"
        else:
            default = "None" if field.default is None else _quoted(str(field.default))
            yield f"{name}: {spelled(field.type)} = {default}"
    if method.options:
        yield f"**options: Unpack[{method.keywords}]"


def _wrapped(indent: int, begin: str, given: Sequence[str], end: str) -> list[str]:
    """A line with brackets as `ruff format` has it: whole, its inside on one line, or a line for each."""
    before, inner = " " * indent, " " * (indent + 4)
    whole = f"{before}{begin}{', '.join(given)}{end}"
    if len(whole) <= WIDTH:
        return [whole]
    inside = f"{inner}{', '.join(given)}"
    rows = [inside] if len(inside) <= WIDTH else [f"{inner}{each}," for each in given]
    return [f"{before}{begin}", *rows, f"{before}{end}"]


def _body(method: Method, begin: str) -> list[str]:
    given = ["options"] if method.options else ["{}"]
    sent = f"_sent({', '.join([*given, *(f'{name}={name}' for name in method.named)])})"
    past = ["contract_name=HISTORY"] if method.past else []
    return _wrapped(8, f"return {begin}self.perform(", [_quoted(method.tool.name), sent, *past], ")")


def _class(begin: str, returned: str) -> Iterator[str]:
    for method in METHODS:
        yield ""
        yield from _wrapped(4, f"{begin} {method.name}(", list(_parameters(method)), ") -> Reply:")
        yield from _docstring(method)
        yield from _body(method, returned)


def _keywords_used() -> list[str]:
    types = {method.keywords for method in METHODS if method.options}
    return sorted(types | {name for name, _ in ITEMS.values()})


_PERFORM = ("self", "tool: str", "arguments: Mapping[str, Fact]", "*", 'contract_name: str = "native"')

_MADE = "Written by `python -m scripts.docs` from the arguments of the tools."


def _of_methods(about: str, name: str, class_words: str, begin: str, returned: str) -> str:
    lines = [
        f'"""{about}',
        "",
        _MADE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from abc import ABC, abstractmethod",
        "from collections.abc import Mapping, Sequence",
        "from typing import TYPE_CHECKING, Literal, Unpack",
        "",
        "from readroom.core.contracts.history import CONTRACT as HISTORY",
        "from readroom.core.methods import sent as _sent",
        "",
        "if TYPE_CHECKING:",
        "    from readroom.core.methods.keywords import (",
        *(f"        {name}," for name in _keywords_used()),
        "    )",
        "    from readroom.core.values import Fact, Reply",
        "",
        "",
        f"class {name}(ABC):",
        f'    """{class_words}"""',
        "",
        "    @abstractmethod",
        *_wrapped(4, f"{begin} perform(", _PERFORM, ") -> Reply:"),
        '        """The reply to one tool call. Raises ReadroomError."""',
        *_class(begin, returned),
    ]
    return "\n".join(lines) + "\n"


def _of_keywords() -> str:
    lines = [
        '"""The options of the methods of a workspace, as types.',
        "",
        _MADE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Sequence",
        "from typing import Literal, Required, TypedDict",
    ]
    types: list[tuple[str, str, type[msgspec.Struct], Sequence[FieldInfo]]] = [
        (name, words, struct, msgspec.structs.fields(struct)) for struct, (name, words) in ITEMS.items()
    ]
    types += [
        (method.keywords, f"Options of `{method.name}`.", method.tool.arguments, method.options)
        for method in METHODS
        if method.options
    ]
    for name, words, struct, fields in types:
        lines += ["", "", f"class {name}(TypedDict, total=False):", f'    """{words}"""']
        for field in fields:
            lines += ["", f"    {field.encode_name}: {_key(field)}"]
            lines.append(_paragraph(f'"""{words_of(struct, field)}"""', 4, 0))
    return "\n".join(lines) + "\n"


def texts() -> dict[Path, str]:
    """The modules, as they ought to be."""
    plain = _of_methods(
        "The methods of a workspace that make one call each.",
        "ToolMethods",
        "A method for each tool; those of a workspace without an event loop.",
        "def",
        "",
    )
    awaited = _of_methods(
        "The methods of a workspace with an event loop that make one call each.",
        "AsyncToolMethods",
        "A method for each tool, to await.",
        "async def",
        "await ",
    )
    return {
        FOLDER / "keywords.py": _of_keywords(),
        FOLDER / "plain.py": plain,
        FOLDER / "awaited.py": awaited,
    }


def stale() -> dict[Path, str]:
    """Those that are not as they ought to be."""
    return {
        path: text for path, text in texts().items() if not path.exists() or path.read_text("utf-8") != text
    }
