"""The first place where a text is not the JSON, TOML, YAML or XML that its name says.

Each parser is bounded by the size of the text, and none expands anything: YAML is read as events, and an XML
text that declares entities is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from readroom.core.deadline import Deadline

TOML_BYTES = 256 * 1024
"""Largest TOML text that is parsed: its parser is in Python and takes 0.2 s for that."""

YAML_BYTES = 512 * 1024
"""Largest YAML text that is parsed: 0.3 s."""

_EVENTS = 1000
"""Events of YAML, and _CHUNK bytes of XML, per check of the clock."""

_CHUNK = 64 * 1024
_WHAT_CHARS = 100
"""How much of a parser's sentence is repeated: some quote the text."""


class Fault(Struct, frozen=True):
    """A place where a text does not parse: its line, why, and whether the text ends too early."""

    line: int
    what: str
    at_end: bool = False


class Unjudged(Exception):
    """A text that no parser here judges safely."""


def json_fault(text: str, deadline: Deadline) -> Fault | None:
    """The place where a text is not JSON. Raises Unjudged."""
    import msgspec

    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return _slow_json(text)
    return None


def _slow_json(text: str) -> Fault | None:
    """The same from the parser that knows lines, and takes NaN as well."""
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        early = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        return Fault(error.lineno, _short(error.msg.removesuffix(" at")), at_end=early)
    except (RecursionError, ValueError):
        raise Unjudged from None
    return None


_ASIDE = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def commented_json_fault(text: str, deadline: Deadline) -> Fault | None:
    """The place where a text is not JSON with comments and trailing commas. Raises Unjudged."""

    def blanked(match: re.Match[str]) -> str:
        return match[1] or re.sub(r"[^\n]", " ", match[0])

    bare = _ASIDE.sub(blanked, text)
    return json_fault(_ASIDE.sub(blanked, bare), deadline)  # a comma before a comment is the last one, too


_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)\Z")


def toml_fault(text: str, deadline: Deadline) -> Fault | None:
    """The place where a text is not TOML. Raises Unjudged."""
    import tomllib

    if len(text) > TOML_BYTES:
        raise Unjudged
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = place[1] if place is not None and place[1] else None
        what = _short(_TOML_PLACE.sub("", str(error)))
        return Fault(_last_line(text) if line is None else int(line), what, at_end=line is None)
    except (RecursionError, ValueError):
        raise Unjudged from None
    return None


def yaml_fault(text: str, deadline: Deadline) -> Fault | None:
    """The place where a text is not YAML. Raises Unjudged, and what the deadline does."""
    import yaml

    if len(text) > YAML_BYTES or not yaml.__with_libyaml__:
        raise Unjudged
    try:
        for number, _ in enumerate(yaml.parse(text, Loader=yaml.CLoader)):
            if number % _EVENTS == 0:
                deadline.check()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            raise Unjudged from None
        early = (mark.line, mark.column) >= _end(text)
        return Fault(mark.line + 1, _short(error.problem or "not YAML"), at_end=early)
    except (yaml.YAMLError, ValueError):
        raise Unjudged from None
    return None


def xml_fault(text: str, deadline: Deadline) -> Fault | None:
    """The place where a text is not well-formed XML. Raises Unjudged, and what the deadline does."""
    from xml.parsers import expat

    parser = expat.ParserCreate("utf-8")  # what the text says of its encoding no longer counts

    def stop(*about: object) -> None:
        raise Unjudged

    parser.EntityDeclHandler = stop
    parser.ElementDeclHandler = stop
    data = text.encode()
    try:
        for at in range(0, len(data), _CHUNK):
            deadline.check()
            parser.Parse(data[at : at + _CHUNK], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        early = parser.ErrorByteIndex >= len(data.rstrip())
        return Fault(error.lineno, _short(expat.errors.messages[error.code]), at_end=early)
    return None


def _short(what: str) -> str:
    what = " ".join(what.split())
    return what if len(what) <= _WHAT_CHARS else f"{what[:_WHAT_CHARS]}…"


def _last_line(text: str) -> int:
    return text.rstrip().count("\n") + 1


def _end(text: str) -> tuple[int, int]:
    """The row and the column after the last character that is not blank."""
    text = text.rstrip()
    return text.count("\n"), len(text) - text.rfind("\n") - 1


Judge = Callable[[str, Deadline], "Fault | None"]

_JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "json": json_fault,
        "jsonc": commented_json_fault,
        "toml": toml_fault,
        "yaml": yaml_fault,
        "xml": xml_fault,
    }
)

_XML = re.compile(
    r"\.(?:atom|axaml|csproj|fsproj|gpx|iml|kml|nuspec|plist|pom|props|qrc|resx|rss|svg|targets|ui|vbproj|"
    r"vcxproj|wsdl|xaml|xhtml|xlf|xliff|xml|xsd|xsl|xslt)\Z"
)
"""Names of files that are XML."""

_COMMENTED = re.compile(
    r"(?:\A|/)(?:[tj]sconfig[^/]*\.json|\.eslintrc(?:\.json)?|\.babelrc|\.?devcontainer\.json|"
    r"\.vscode/[^/]+\.json|[^/]+\.(?:jsonc|code-workspace|sublime-[a-z]+))\Z"
)
"""Names of files whose programs read comments in JSON."""

_UNLIKE = re.compile(r"\.(?:json5|jsonl|ndjson)\Z|(?:\A|/)\.prettierrc\Z")
"""Names that count as JSON for outlines, in forms that are not checked."""


def judge_of(path: str, language: str | None) -> Judge | None:
    """The function that judges a text of this path and language; None if nothing here does."""
    name = path.lower()
    if _XML.search(name):
        return xml_fault
    if _UNLIKE.search(name):
        return None
    if name.endswith(".ipynb"):
        return json_fault
    return _JUDGES.get("jsonc" if _COMMENTED.search(name) else language or "")
