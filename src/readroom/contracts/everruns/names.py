"""Paths as Everruns spells them, and the `path_pattern` of a search as globs of the engine, and back.

`notes.txt`, `/notes.txt`, `/workspace/notes.txt` and `//workspace//notes.txt` are one file, shown as
`/workspace/notes.txt`.  An operator can have another root shown instead; `/workspace` still means it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import MissingArgument, ReadroomError
from readroom.core.paths import OUTPUTS, WorkPath, parse
from readroom.core.quoting import as_value, quote

ROOT = "/workspace"
"""The root in replies and calls, if no other is set; in calls always."""

KEPT = "outputs"
"""The folder of kept outputs of commands today, in the root. Its document has them in `/.outputs`."""

_QUOTED = 2
"""Characters of a name in quotes, without the name."""

_GLOB_SPECIAL = re.compile(r"[*?\[{]")
_PLAIN = re.compile(r"([\\*?\[\]{}!#])")

_BELOW = "/**"
_ANYWHERE = "**/"


class Names(Struct, frozen=True):
    """The spelling of paths in one workspace, and in one call.

    Attributes:
        root: The absolute path of the root, as it is shown.
        outputs: The path of kept outputs, as it is shown.
    """

    root: str = ROOT
    outputs: str = str(OUTPUTS)

    @property
    def today(self) -> Names:
        """The same, with kept outputs where they stand today."""
        return replace(self, outputs=f"{self.root}/{KEPT}")

    def of_call(self, spelled: str) -> Names:
        """The names for a call about a path: kept outputs are shown where it looks for them."""
        path = self.work_path(spelled) if KEPT in spelled else ""
        return self.today if path == KEPT or path.startswith(f"{KEPT}/") else self

    def work_path(self, spelled: str) -> str:
        """The path of a request for a path as a caller spells it; "" for none. Raises BadPath."""
        text = spelled.strip()
        if len(text) >= _QUOTED and text[0] == text[-1] == '"':
            return quote(parse(text, (self.root, ROOT, "/")))
        if not text or "\0" in text:
            return text
        steps = _steps(text)
        for root in (self.root, ROOT) if text.startswith("/") else ():
            above = _steps(root)
            if steps[: len(above)] == above:
                steps = steps[len(above) :]
                break
        path = "/".join(steps)
        # A leading quote marks a quoted name here; paths are parsed again later.
        return f"./{path}" if path.startswith('"') else path or "."

    def required_path(self, spelled: str, tool: str) -> str:
        """The path of a request. Raises MissingArgument if it is missing, and as `work_path`."""
        path = self.work_path(spelled)
        if not path:
            raise MissingArgument(tool, "path")
        return path

    def shown(self, path: str) -> str:
        """A path of the workspace as fields of replies spell it."""
        return as_value(self.spelled(path))

    def named(self, path: str) -> str:
        """The same in sentences and lines."""
        return quote(self.spelled(path))

    def shown_below(self, folder: str, name: str) -> str:
        """The same of something below a folder."""
        return self.shown(name if folder == "." else f"{folder}/{name}")

    def spelled(self, path: str) -> str:
        """The path of something as the client's own, absolute."""
        if path == OUTPUTS or path.startswith(f"{OUTPUTS}/"):
            return self.outputs + path[len(OUTPUTS) :]
        return self.root if path in (".", "") else f"{self.root}/{path}"

    def globs(self, path_pattern: str) -> tuple[str, ...]:
        """The globs that take the files that `path_pattern` means; none for an empty one.

        A value with a special character is a glob: one without a slash means a name at any depth.  Any other
        value is a part of the path.
        """
        if not path_pattern:
            return ()
        text = path_pattern
        roots = [root for root in (self.root, ROOT) if text == root or text.startswith(f"{root}/")]
        if roots:
            text = text[len(roots[0]) :] or "/"
        if _GLOB_SPECIAL.search(text):
            # Only here a "!" takes something out, and a "#" begins a comment.
            return (f"\\{text}" if text[0] in "!#" else text,)
        return _part(text, anchored=bool(roots))

    def path_pattern(self, patterns: Sequence[str]) -> str:
        """The `path_pattern` that means these globs."""
        if not patterns:
            return ""
        first = patterns[0]
        if len(patterns) == 1:
            return first[1:] if first[:2] in ("\\!", "\\#") else first
        text = first.removesuffix("*").removeprefix("**/*")
        if first.startswith("**/") and not first.startswith("**/*"):
            text = first.removesuffix("*")[2:]
        elif not first.startswith("**/"):
            text = self.root + first.removesuffix("*")
        return re.sub(r"\\(.)", r"\1", text)


def plain(path: str) -> WorkPath:
    """The path in an error's facts, which is quoted if it is unusual."""
    if not path.startswith('"'):
        return WorkPath(path)
    try:
        return parse(path)
    except ReadroomError:
        return WorkPath(path)


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _part(text: str, *, anchored: bool) -> tuple[str, ...]:
    """Globs for all paths that hold a text; with a slash before them as they are shown."""
    plain = re.sub(r"/+", "/", _PLAIN.sub(r"\\\1", text))
    if plain == "/" and not anchored:
        return ()
    if anchored:
        begin = plain
    elif plain.startswith("/"):
        begin = f"**{plain}"
    else:
        begin = f"{_ANYWHERE}*{plain}"
    return (f"{begin}*", f"{begin}*{_BELOW}")
