"""Compare the kinds of all names in files with what a parser of their language says, without a server.

python -m benchmarks.references.names LANGUAGE FOLDER --out FILE [--files N]

A server tells which places belong to one symbol and takes seconds for each; the syntax of a place needs none.
Names in text and comments are left out, and for Python, whose parser has no places of definitions, these too.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import machine
from benchmarks.references.score import LANGUAGES, SHOWN, files_of
from benchmarks.references.trees import Syntax
from readroom.core.deadline import Deadline
from readroom.core.outline import Unparsable
from readroom.core.outline.uses import parsed
from readroom.core.values.matches import UseKind

_NAME = re.compile(r"(?<![\w$@#])[^\W\d]\w*(?!\$)")
_LARGEST = 300_000
_KINDS = ("definition", "call", "import")


def main() -> None:
    """Compare, and write the counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=[name for name in LANGUAGES if name not in ("c", "cpp")])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--files", type=int, default=60)
    given = parser.parse_args()
    every = [path for path in files_of(given.folder, given.language) if path.stat().st_size <= _LARGEST]
    files = random.Random(3).sample(every, min(given.files, len(every)))
    confusions: Counter[tuple[str, str]] = Counter()
    examples: dict[str, list[str]] = {}
    for path, syntax in LANGUAGES[given.language].parser(files).items():
        for line, column, name, label in _labelled(path, given.language):
            wanted = _kind(syntax, line, column)
            # The words of an import that are no names: its keywords, the parts of a path, a comment.
            is_word = line in syntax.import_lines and (wanted == "use" or label == "comment")
            if is_word or (wanted, label) in (("use", "text"), ("use", "comment")):
                continue
            if given.language == "python" and (wanted, label) == ("use", "definition"):
                continue
            confusions[wanted, label] += 1
            if wanted != label:
                shown = examples.setdefault(f"{wanted} as {label}", [])
                if len(shown) < SHOWN:
                    shown.append(f"{path.relative_to(given.folder)}:{line}:{column} {name}")
    facts = {
        "language": given.language,
        "project": given.folder.name,
        "machine": machine(),
        "files": len(files),
        "kinds": {kind: _counts(confusions, kind) for kind in _KINDS},
        "confusions": {
            f"{wanted} as {label}": count
            for (wanted, label), count in sorted(confusions.items())
            if wanted != label
        },
        "examples": examples,
    }
    given.out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _labelled(path: Path, language: str) -> Iterator[tuple[int, int, str, UseKind]]:
    """Line, column, name and our label of each name in a file."""
    data = path.read_bytes()
    try:
        uses = parsed(data, language, Deadline(120))
    except Unparsable:
        return
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace")
        if text.isascii():
            names = list(_NAME.finditer(text))
            places = [(start + one.start(), start + one.end()) for one in names]
            for name, use in zip(names, uses.of_line(number, places, Deadline(120)), strict=True):
                yield number, name.start() + 1, name[0], use.kind
        start += len(line) + 1


def _kind(syntax: Syntax, line: int, column: int) -> str:
    at = (line, column)
    if at in syntax.imports or (line in syntax.import_lines and not syntax.imports):
        return "import"
    return "call" if at in syntax.calls else "definition" if at in syntax.definitions else "use"


def _counts(confusions: Counter[tuple[str, str]], kind: str) -> dict[str, int]:
    return {
        "of the parser": sum(count for (wanted, _), count in confusions.items() if wanted == kind),
        "right": confusions[kind, kind],
        "of ours": sum(count for (_, label), count in confusions.items() if label == kind),
    }


if __name__ == "__main__":
    main()
