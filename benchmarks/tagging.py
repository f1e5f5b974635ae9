"""Universal-ctags as a second witness: what it finds in real files, and which of it an outline has.

A tag is found where an outline has a definition of its name whose signature stands in
the tag's line, or at most `_LINES` above it (a decorator, a type or a macro may take some).
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.limits import HEAD_BYTES
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline import Unparsable, build
from readroom.core.outline.grammars import grammar_of
from readroom.core.outline.languages import language_of
from readroom.core.outline.syntax import load
from readroom.core.values.files import rows

_LINES = 10


class Witness(Struct, frozen=True):
    """What a language is called by ctags, and which of its kinds are which."""

    name: str
    definitions: str
    members: str = ""


WITNESSES: Mapping[str, Witness] = {
    "python": Witness(
        "Python",
        "class function member",
        "variable",
    ),
    "javascript": Witness(
        "JavaScript",
        "function class method generator getter setter",
        "property constant variable field",
    ),
    "typescript": Witness(
        "TypeScript",
        "function class interface enum method namespace generator alias",
        "enumerator property variable constant",
    ),
    "go": Witness(
        "Go",
        "func type struct interface methodSpec talias",
        "const var member anonMember",
    ),
    "rust": Witness(
        "Rust",
        "module struct interface implementation function enum typedef macro method",
        "field enumerator variable",
    ),
    "java": Witness(
        "Java",
        "class interface enum method annotation",
        "field enumConstant",
    ),
    "c": Witness(
        "C",
        "function struct union enum typedef",
        "macro member enumerator variable",
    ),
    "cpp": Witness(
        "C++",
        "function struct union enum typedef class namespace",
        "macro member enumerator variable",
    ),
    "c_sharp": Witness(
        "C#",
        "class interface struct enum method namespace typedef",
        "field property event enumerator",
    ),
    "ruby": Witness(
        "Ruby",
        "class module method singletonMethod",
        "constant accessor alias",
    ),
    "php": Witness(
        "PHP",
        "class interface trait function",
        "define variable",
    ),
    "kotlin": Witness(
        "Kotlin",
        "class interface object method typealias",
        "constant variable",
    ),
    "lua": Witness(
        "Lua",
        "function",
    ),
    "bash": Witness(
        "Sh",
        "function",
    ),
}
"""By the names of `languages`."""

_FUNCTIONS = frozenset({"function", "method", "generator", "getter", "setter", "func", "singletonMethod"})
_AT_THE_MARGIN = ("JavaScript", "TypeScript", "C", "C++", "PHP")
_LUA = re.compile(r"\bfunction\s+[\w.:]+|=\s*function\b")
_FIELD = re.compile(r"^/\^\s*(?:static\s+)?[#\w$]+\s*[=;]")
_CLASS = re.compile(r"\bclass\b|\bfunction\b|=>")
_SEPARATORS = re.compile(r"[.:]+")
_BRACKETS = re.compile(r"""^\[["']?|["']?\]$""")
"""Around what ctags gives as the name of an element of a table or an object."""

_OBJECTIVE_C = re.compile(rb"^[ \t]*(?:@(?:interface|protocol|class|import|end)\b|#import\b)", re.MULTILINE)
_TYPED = r"(?:^/\^\s*|[{,;]\s*)(?:[a-z]+\s+){0,4}[\"'\[#]?%s[\"'\]]?\s*(?:[?!]?\s*:|[?!]?;|=|\()"
"""A property of TypeScript: first in its line or behind another one, with its type or value behind it."""

_MADE_UP = ("__anon", "anonymous", "AnonymousFunction", "<")
"""How ctags calls what has no name."""


class Tally(Struct):
    """Tags of one group in one language: all of them, and examples of those that an outline lacks."""

    total: int = 0
    found: int = 0
    missing: list[str] = []
    kinds: Counter[str] = Counter()

    @property
    def share(self) -> float:
        return self.found / self.total if self.total else 1.0


def tags_of(paths: Sequence[Path], witness: Witness) -> dict[str, list[dict[str, Any]]]:
    """The tags of files, by file."""
    ctags = shutil.which("ctags")
    assert ctags is not None, "universal-ctags is not installed"
    command = [ctags, "--options=NONE", f"--language-force={witness.name}", "--output-format=json"]
    done = subprocess.run(
        [*command, "--fields=+nK", "-f", "-", "-L", "-"],
        input="\n".join(map(str, paths)),
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for line in done.stdout.splitlines():
        try:
            tag = json.loads(line)
        except json.JSONDecodeError:
            continue  # a name that is no UTF-8
        found.setdefault(tag["path"], []).append(tag)
    return found


def compare(language: str, paths: Sequence[Path]) -> tuple[Tally, Tally]:
    """How many of the definitions, and of the members, that ctags finds are in our outlines."""
    witness = WITNESSES[language]
    both = Tally(kinds=Counter()), Tally(kinds=Counter())
    for path, tags in tags_of(paths, witness).items():
        text = Path(path).read_bytes().decode("utf-8", "replace")
        own: dict[str, list[tuple[int, int, int]]] = {}
        try:
            for row in rows(build(text, language, Deadline(60)).items):
                # `namespace a::b` has both names.
                for name in (row.item.name, *(row.item.owner if row.item.kind == "namespace" else ())):
                    place = (row.item.start, row.item.line, row.item.end)
                    own.setdefault(name.replace(" ", ""), []).append(place)
        except Unparsable:
            pass
        tops = {str(tag["name"]) for tag in tags if not str(tag.get("pattern", ""))[2:3].isspace()}
        functions = {_whole(tag) for tag in tags if tag["kind"] in _FUNCTIONS}
        aside = _aside(text, witness)
        for tag in tags:
            group = _group(tag, witness, functions)
            if tag["line"] in aside and (group == 1 or witness.name in ("Sh", "Lua")):
                continue
            root = _SEPARATORS.split(str(tag.get("scope", "")))[0]
            if group == 1 and witness.name == "JavaScript" and root and root not in tops:
                continue  # of an object that is local
            if group is None:
                continue
            name, line, tally = str(tag["name"]).replace(" ", ""), int(tag["line"]), both[group]
            if tag["kind"] == "accessor":
                name = name.removesuffix("=")
            tally.total += 1
            ways = (name, _BRACKETS.sub("", name), _SEPARATORS.split(name)[-1])
            places = [place for way in ways for place in own.get(way, ())]
            if any(start <= line <= at + _LINES or line == end for start, at, end in places):
                tally.found += 1
            else:
                tally.kinds[tag["kind"]] += 1
                tally.missing.append(f"{path}:{line} {tag['kind']} {name} {tag.get('pattern', '')[:120]}")
    return both


_HERE = re.compile(r"<<-?[ \t]*[\\'\"]?(\w+)")


_LONG_COMMENT = re.compile(r"--\[(=*)\[.*?\]\1\]", re.DOTALL)


def _aside(text: str, witness: Witness) -> set[int]:
    """The lines of here-documents in a script, of long comments in Lua, of functions in JavaScript."""
    found, end = set[int](), ""
    if witness.name == "JavaScript":
        from tree_sitter import Parser

        root = Parser(load(grammar_of("javascript"))).parse(text.encode()).root_node
        for node in root.named_children:
            if node.type == "function_declaration":
                found.update(range(node.start_point.row + 2, node.end_point.row + 1))
    for number, line in enumerate(text.split("\n"), 1) if witness.name == "Sh" else ():
        if end:
            found.add(number)
            end = "" if line.strip() == end else end
        elif (opened := _HERE.search(line)) and not line.lstrip().startswith("#"):
            end = opened[1]
    for comment in _LONG_COMMENT.finditer(text) if witness.name == "Lua" else ():
        first = text.count("\n", 0, comment.start()) + 1
        found.update(range(first, first + comment[0].count("\n") + 1))
    return found


def _whole(tag: Mapping[str, Any]) -> str:
    scope = tag.get("scope")
    return f"{scope}.{tag['name']}" if scope else str(tag["name"])


def _group(tag: Mapping[str, Any], witness: Witness, functions: set[str]) -> int | None:
    """0 for a definition, 1 for a member; None for what is neither, or local to a function."""
    kind, name, line = tag["kind"], str(tag["name"]), str(tag.get("pattern", ""))
    is_member = kind in witness.members.split()
    if witness.name == "JavaScript" and kind == "class" and not _CLASS.search(line):
        is_member = True  # an object
    if name.startswith(_MADE_UP) or (witness.name == "Sh" and name.endswith(("=", "}}"))):
        return None
    if witness.name == "Lua" and not _LUA.search(line):
        return None  # what a function is handed to
    if witness.name == "JavaScript" and kind == "field" and not _FIELD.search(line):
        return None  # a parameter that is taken apart
    if witness.name in ("C", "C++") and name.isupper() and re.search(rf"(?:\^\s*|\)\s*){name}\s*\(", line):
        return None  # the call of a macro
    if witness.name == "TypeScript" and kind == "property" and not re.search(_TYPED % re.escape(name), line):
        return None  # a word of a type, or a parameter in one
    if (
        witness.name == "TypeScript"
        and kind in ("constant", "variable")
        and not re.search(rf"(?:\b(?:const|let|var)\s+|,\s*|\^\s*){re.escape(name)}\b", line)
    ):
        return None
    if witness.name == "Sh" and not re.search(rf"{re.escape(name)}\s*\(\s*\)|function\s", line):
        return None
    if _misread(kind, re.escape(name), line, witness):
        return None
    is_object = is_member and kind == "class"
    if is_object and not tag.get("scope") and line[:3].endswith((" ", "\t")):
        return None
    if kind in ("variable", "constant") and witness.name in _AT_THE_MARGIN and line[:3].endswith((" ", "\t")):
        return None  # a local of a block
    if witness.name == "Kotlin" and kind == "method" and not re.search(r"\bfun\b", line):
        return None  # the parameter of a lambda
    if (
        witness.name == "TypeScript"
        and kind == "alias"
        and not re.search(rf"\btype\s+{re.escape(name)}\s*(?:[<=/]|\$)", line.split("{")[0])
    ):
        return None  # something imported or exported as a type
    if is_member or kind == "typedef":
        parts = re.split(r"[.:/]+", str(tag.get("scope", "")))
        scopes = {".".join(parts[: at + 1]) for at in range(len(parts))}
        return None if scopes & functions or tag.get("scopeKind") in _FUNCTIONS else int(is_member)
    return 0 if kind in witness.definitions.split() else None


def _misread(kind: str, name: str, line: str, witness: Witness) -> bool:
    """Whether ctags takes for a definition what only uses a name."""
    if witness.name == "Ruby" and kind == "constant":
        return re.search(rf"\b{name}\s*(?:\|\|)?=(?![=~>])", line) is None  # a key, or compared
    if witness.name == "PHP":
        return name == "__NAMESPACE__" or (
            kind == "variable" and re.search(rf"\^\s*(?:\w+\s+)*\\?\$(?:\w+\s*=\s*\$)*{name}\b", line) is None
        )
    if witness.name == "C#" and kind in ("field", "property"):
        # A parameter of what is defined by an expression, or a type in a condition of a generic one.
        return re.search(rf"\b{name}\s*\)\s*=>|\bwhere\b", line) is not None
    return False


def _is_minified(path: Path) -> bool:
    data = path.read_bytes()
    return len(data) > 200 * (data.count(b"\n") + 1)


def files(place: Path, most: int) -> dict[str, list[Path]]:
    """Files by language, in a fixed random order that takes from each package in turn."""
    packages: dict[str, dict[str, list[Path]]] = {}
    for path in sorted(place.rglob("*")):
        if not path.is_file() or path.is_symlink() or not 200 < path.stat().st_size < OUTLINE_BYTES // 4:
            continue
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", "replace")
        language = language_of(str(path), head)
        language = "typescript" if language == "tsx" else language
        if language in ("c", "cpp") and _OBJECTIVE_C.search(path.read_bytes()):
            continue
        if language is not None and language in WITNESSES and not _is_minified(path):
            package = path.relative_to(place).parts[0]
            packages.setdefault(language, {}).setdefault(package, []).append(path)
    return {language: _in_turn(found, most) for language, found in packages.items()}


def _in_turn(packages: Mapping[str, list[Path]], most: int) -> list[Path]:
    order = random.Random(7)
    for name in sorted(packages):
        order.shuffle(packages[name])
    found: list[Path] = []
    while len(found) < most and any(packages.values()):
        found += [packages[name].pop() for name in sorted(packages) if packages[name]]
    return found[:most]
