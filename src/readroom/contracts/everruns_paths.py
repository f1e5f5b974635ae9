"""Paths as Everruns spells them: `/workspace/...`, and every other spelling of the same file.

`notes.txt`, `/notes.txt`, `/workspace/notes.txt` and `//workspace//notes.txt` are one
file.  Kept outputs of commands are `/.outputs/...`, as its document has them, in every spelling, too.
"""

from __future__ import annotations

from readroom.errors import MissingArgument, ReadroomError
from readroom.paths import OUTPUTS, WorkPath, parse
from readroom.quoting import as_value, quote

ROOT = "/workspace"
"""How replies spell the root, and callers may."""

_QUOTED = 2
"""Characters of a name in quotes, without the name."""


def work_path(given: str) -> str:
    """The path of a request for a path as a caller spells it; "" when there is none.

    Raises:
        BadPath: It is in the quotes of unusual names, and they hold none.
    """
    text = given.strip()
    if len(text) >= _QUOTED and text[0] == text[-1] == '"':
        return quote(parse(text, (ROOT, "/")))
    if not text or "\0" in text:
        return text
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if text.startswith("/") and steps[:1] == [ROOT[1:]]:
        steps = steps[1:]
    path = "/".join(steps)
    # What begins with a quote here is a name; paths are read once more further on.
    return f"./{path}" if path.startswith('"') else path or "."


def required_path(given: str, tool: str) -> str:
    """The path of a request. Raises MissingArgument when there is none, and as `work_path`."""
    found = work_path(given)
    if not found:
        raise MissingArgument(tool, "path")
    return found


def shown(path: str) -> str:
    """A path of the workspace as fields of replies spell it."""
    return as_value(_spelled(path))


def named(path: str) -> str:
    """The same in sentences and lines."""
    return quote(_spelled(path))


def _spelled(path: str) -> str:
    if path == OUTPUTS or path.startswith(f"{OUTPUTS}/"):
        return path
    return ROOT if path in (".", "") else f"{ROOT}/{path}"


def shown_below(folder: str, name: str) -> str:
    """The same of something below a folder."""
    return shown(name if folder == "." else f"{folder}/{name}")


def plain(path: str) -> WorkPath:
    """The path behind what an error says: a path of the workspace, in quotes where it is unusual."""
    if not path.startswith('"'):
        return WorkPath(path)
    try:
        return parse(path)
    except ReadroomError:
        return WorkPath(path)
