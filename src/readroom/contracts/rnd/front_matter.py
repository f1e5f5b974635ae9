"""The front matter of a `read` command file: limits and lists of paths, as YAML between two lines of "---".

Missing keys are as in the published command. An unknown key in `limits` and `safety` is refused: a
restriction with a typo must not be ignored. Other keys at the top belong to other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from msgspec.structs import replace

from readroom.core.contracts import OwnSettings
from readroom.core.errors import BadConfig
from readroom.core.limits import NUMBER_MOST
from readroom.core.policy.rules.gitignore import UnusablePattern, patterns, require_effect

FRONT_MATTER_BYTES = 65_536
"""Longest front matter that is read: the one of the published command has 600 bytes."""

FRONT_MATTER_DEPTH = 10
"""Deepest nesting in it; the published one has 3."""

FRONT_MATTER_NODES = 2_000
"""Keys, lists and values in it; the published one has 40."""

_NAME = "read"
_FENCE = b"---"

_LIMITS = ("max_bytes", "max_lines", "timeout_seconds")
_SAFETY = ("reads_files", "sandbox", "allowed_paths", "denied_paths")

_WRITE_ROOT = "write_root"
"""The published command mentions this boundary but has no key for it: setting it would have no effect."""

Bad: TypeAlias = Callable[[str, str, str], BadConfig]
"""From a key, the problem and advice to an error."""


class FrontMatter(OwnSettings, frozen=True):
    """The limits and paths of a command file.

    Attributes:
        source: The file, for people.
        max_bytes: Largest file that is read whole.
        max_lines: Maximum lines of one read.
        timeout_seconds: Longest time of one read.
        allowed_paths: Patterns of readable files.
        denied_paths: Patterns of unreadable files; they override the allowed ones.
    """

    source: str
    max_bytes: int
    max_lines: int
    timeout_seconds: float
    allowed_paths: tuple[str, ...]
    denied_paths: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The command file, which no call may change."""
        return (self.source,)


@cache
def published() -> FrontMatter:
    """The front matter of the published command."""
    from importlib import resources  # 4 ms, and one contract needs it

    data = resources.files("readroom.contracts.rnd").joinpath("command.md").read_bytes()
    return _read("front matter", data, FrontMatter("front matter", 1, 1, 1, (), ()))


def read_front_matter(where: str, data: bytes) -> FrontMatter:
    """The front matter of a command file. Raises BadConfig."""
    return _read(where, data, replace(published(), source=where))


def _read(where: str, data: bytes, before: FrontMatter) -> FrontMatter:
    def bad(key: str, problem: str, advice: str) -> BadConfig:
        return BadConfig(where, key, problem, advice)

    document = _parsed(_fenced(data, bad), bad)
    if document.get("name", _NAME) != _NAME:
        raise bad(
            "name", f"{document['name']!r} is another command", f"Give the file of the command {_NAME}."
        )
    if _WRITE_ROOT in document:
        problem = "it is a boundary of another command, and holds for no read"
        raise bad(_WRITE_ROOT, problem, "Leave it out; safety.allowed_paths says what may be read.")
    limits = _section(document, "limits", _LIMITS, bad)
    safety = _section(document, "safety", _SAFETY, bad)
    for key, value in safety.items():
        if key in ("reads_files", "sandbox") and value is not True:
            raise bad(f"safety.{key}", "is not true", "A read reads files, and inside the root only.")
    return FrontMatter(
        where,
        int(_number(limits, "max_bytes", before.max_bytes, bad, whole=True)),
        int(_number(limits, "max_lines", before.max_lines, bad, whole=True)),
        _number(limits, "timeout_seconds", before.timeout_seconds, bad, whole=False),
        _patterns(safety, "allowed_paths", before.allowed_paths, bad),
        _patterns(safety, "denied_paths", before.denied_paths, bad),
    )


def _fenced(data: bytes, bad: Bad) -> str:
    """The text between the first line, which is "---", and the next such line."""
    lines = data[: FRONT_MATTER_BYTES + 1].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[0].rstrip() != _FENCE:
        raise bad("", "it does not begin with a line ---", "Put the keys between two lines of ---.")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            try:
                return b"\n".join(lines[1:number]).decode()
            except UnicodeDecodeError as problem:
                raise bad("", f"it is not UTF-8: byte {problem.start}", "Save it as UTF-8.") from None
    raise bad(
        "", f"its front matter has no end within {FRONT_MATTER_BYTES:,} bytes", "End it by a line of ---."
    )


def _parsed(text: str, bad: Bad) -> Mapping[str, object]:
    import yaml  # 20 ms, and one contract needs it

    try:
        depth = nodes = 0
        # Events come without recursion: too much nesting or repetition is refused here.
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise bad("", "it has an alias (*)", "Write the value itself.")
            nodes += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > FRONT_MATTER_DEPTH or nodes > FRONT_MATTER_NODES:
                raise bad("", "it is nested too deeply or too long", "Keep to the keys of a command.")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return {}
        _require_single(root, "", bad)
        document = yaml.load(text, Loader=yaml.SafeLoader)
    except BadConfig:
        raise
    except (yaml.YAMLError, ValueError) as problem:  # of syntax; of dates and numbers that do not parse
        detail = " ".join(str(problem).split())
        raise bad("", f"it is not YAML: {detail}", "Correct the syntax.") from None
    if not isinstance(document, dict):
        raise bad("", "it is not a mapping of keys", "Write keys and values, such as limits:.")
    return {str(key): value for key, value in document.items()}


def _require_single(node: object, path: str, bad: Bad) -> None:
    """Refuse a mapping with a key twice: YAML would take the last one."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        name = f"{path}{key.value}" if isinstance(key, yaml.ScalarNode) else path
        if name in seen:
            raise bad(name, "it is there twice", "Leave one of them out.")
        seen.add(name)
        _require_single(value, f"{name}.", bad)


def _section(
    document: Mapping[str, object], name: str, known: Sequence[str], bad: Bad
) -> Mapping[str, object]:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise bad(name, "must be a mapping", f"Write {name}: and its keys below.")
    for key in section:
        if key not in known:
            raise bad(f"{name}.{key}", "there is no such key", f"The keys are: {', '.join(known)}.")
    return section


def _number(section: Mapping[str, object], key: str, before: float, bad: Bad, *, whole: bool) -> float:
    value = section.get(key, before)
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= NUMBER_MOST:
        kind = "a whole number" if whole else "a number"
        raise bad(f"limits.{key}", f"must be {kind} above 0", f"Write {key}: {before}.")
    return value


def _patterns(section: Mapping[str, object], key: str, before: tuple[str, ...], bad: Bad) -> tuple[str, ...]:
    value = section.get(key, list(before))
    if not isinstance(value, list):
        raise bad(f"safety.{key}", "must be a list of patterns", f'Write {key}: ["docs/**"].')
    for number, text in enumerate(value):
        where = f"safety.{key}[{number}]"
        if not isinstance(text, str):
            raise bad(where, f"{text!r} is not a text", "Put it between quotes.")
        parsed = patterns([text])
        try:
            if not parsed or parsed[0].negated:
                raise UnusablePattern(text)
            require_effect(parsed[0])
        except UnusablePattern:
            raise bad(
                where, f"{text!r} is not a pattern that can match a name", 'Patterns are like "**/*.py".'
            ) from None
    return tuple(value)
