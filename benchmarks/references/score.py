"""Compare the matches of names, and their kinds, with what a language server says of symbols.

python -m benchmarks.references.score LANGUAGE FOLDER --out FILE [--symbols N]

Each place that the server names for a symbol has to be among the matches of the name, and to have its kind:
a definition that the server or the parser beside it calls one, a call or import of that parser (`trees`), or
else a use.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import machine
from benchmarks.references.servers import Server
from benchmarks.references.trees import Parser, Syntax, of_c, of_go, of_python, of_typescript
from benchmarks.references.truth import TYPES, Place, Symbol, symbols
from readroom import Workspace


class Language(NamedTuple):
    """How a language is scored: its server, its name there, its files, and the parser beside the server.

    With `converts`, a call of a type is a conversion, which is a use.  With `asks`, calls are those of the
    server.
    """

    command: str
    name: str
    globs: Sequence[str]
    parser: Parser
    converts: bool = False
    asks: bool = False


LANGUAGES = {
    "python": Language("pyright-langserver --stdio", "python", ("*.py",), of_python),
    "typescript": Language(
        "typescript-language-server --stdio", "typescript", ("*.ts", "*.tsx"), of_typescript
    ),
    "javascript": Language("typescript-language-server --stdio", "javascript", ("*.js",), of_typescript),
    "go": Language("gopls", "go", ("*.go",), of_go, converts=True),
    "c": Language("clangd --background-index -j=1 --log=error", "c", ("*.c", "*.h"), of_c, asks=True),
    "cpp": Language("clangd --background-index -j=1 --log=error", "cpp", ("*.cc", "*.h"), of_c, asks=True),
}
"""REFERENCES_SERVER replaces the command."""

_SKIPPED = frozenset({"node_modules", "dist", "vendor", "third_party", "gtest"})

_LABELLED = 40
"""Places of one symbol whose kinds are compared, so that none is most of a score; all have to be found."""

SHOWN = 25
"""Places of a confusion that are named."""

KINDS = ("definition", "call", "import", "use")


def main() -> None:
    """Compare, and write the counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=list(LANGUAGES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--symbols", type=int, default=100)
    given = parser.parse_args()
    language, folder = LANGUAGES[given.language], given.folder.resolve()
    files = files_of(folder, given.language)
    score = _Score(folder, language, language.parser(files))
    began = time.monotonic()
    command = os.environ.get("REFERENCES_SERVER", language.command)
    with Server(shlex.split(command), folder) as server:
        about = {"language": given.language, "project": folder.name, "machine": machine()}
        for symbol in symbols(server, files, language.name, given.symbols, calls=language.asks):
            score.take(symbol)
            about |= {"server": server.name, "seconds": round(time.monotonic() - began)}
            # A run that is ended early keeps what it has.
            given.out.write_text(json.dumps({**about, **score.facts()}, indent=1) + "\n", encoding="utf-8")


def files_of(folder: Path, language: str) -> list[Path]:
    """The files of a language in a folder."""
    return sorted(
        path
        for glob in LANGUAGES[language].globs
        for path in folder.rglob(glob)
        if path.is_file() and not _SKIPPED & set(path.relative_to(folder).parts)
    )


class _Score:
    def __init__(self, folder: Path, language: Language, trees: Mapping[Path, Syntax]) -> None:
        self._folder, self._language, self._trees = folder, language, trees
        self._workspace = Workspace(folder)
        self._known: dict[str, Mapping[tuple[str, int, int], str]] = {}
        self._confusions: Counter[tuple[str, str]] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._symbols = self._places = 0
        self._chance = random.Random(2)

    def take(self, symbol: Symbol) -> None:
        """Compare the places of one symbol."""
        self._symbols += 1
        if symbol.name not in self._known:
            self._known[symbol.name] = _labelled(self._workspace, symbol.name)
        known = self._known[symbol.name]
        # A place may be an alias, or what a macro makes of another name.
        own = sorted(place for place in symbol.used if self._text(place) == symbol.name)
        self._places += len(own)
        compared = set(own if len(own) <= _LABELLED else self._chance.sample(own, _LABELLED))
        for place in own:
            label = known.get((place.path, place.line, place.column), "missing")
            if place not in compared and label != "missing":
                continue
            wanted = self._kind(symbol, place)
            self._confusions[wanted, label] += 1
            if label != wanted:
                shown = self._examples.setdefault(f"{wanted} as {label}", [])
                if len(shown) < SHOWN:
                    shown.append(f"{place.path}:{place.line}:{place.column} {symbol.name}")

    def facts(self) -> dict[str, Any]:
        """The counts, shares of what was labelled right, and some of the others."""
        wanted: Counter[str] = Counter()
        given: Counter[str] = Counter()
        for (truth, label), count in self._confusions.items():
            wanted[truth] += count
            given[label] += count
        return {
            "symbols": self._symbols,
            "places": self._places,
            "missing": given["missing"],
            "labels": sum(wanted.values()),
            "kinds": {
                kind: {
                    "of the server": wanted[kind],
                    "right": self._confusions[kind, kind],
                    "of ours": given[kind],
                }
                for kind in KINDS
            },
            "confusions": {
                f"{truth} as {label}": count
                for (truth, label), count in sorted(self._confusions.items())
                if truth != label
            },
            "examples": self._examples,
        }

    def _text(self, place: Place) -> str:
        lines = (self._folder / place.path).read_text(encoding="utf-8", errors="replace").split("\n")
        return lines[place.line - 1][place.column - 1 : place.end - 1]

    def _kind(self, symbol: Symbol, place: Place) -> str:
        syntax, at = self._trees.get(self._folder / place.path, Syntax()), (place.line, place.column)
        if syntax.is_import(*at):
            return "import"
        if at in syntax.calls or place in symbol.called:
            return "use" if self._language.converts and symbol.kind in TYPES else "call"
        return "definition" if place in symbol.declared or at in syntax.definitions else "use"


def _labelled(workspace: Workspace, name: str) -> Mapping[tuple[str, int, int], str]:
    """The kind of each place of a name, from all pages of a search."""
    found: dict[tuple[str, int, int], str] = {}
    cursor: str | None = None
    while True:
        more: Any = {} if cursor is None else {"cursor": cursor}
        facts: Any = workspace.grep(name, output="references", limit=5000, timeout_s=120, **more).facts
        for file in facts["files"]:
            for line in file["lines"]:
                for column in line["columns"]:
                    found[file["path"], line["line"], column] = line["kind"]
        if facts["next"] is None:
            return found
        cursor = facts["next"]["arguments"]["cursor"]


if __name__ == "__main__":
    main()
