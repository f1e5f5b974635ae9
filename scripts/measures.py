"""Measure the house: rooms, modules, functions, kinds of lines, and the road of a call.

    python -m scripts.measures [FOLDER]      a table of `src/readroom`, or of another package's folder
    python -m scripts.measures --roads       files and functions of a warm read, search, listing and edit

A road is what one call runs through inside this process: functions of ours that are entered, the files
they stand in, and how often the next function stands in another file than the one before.
"""

from __future__ import annotations

import ast
import hashlib
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

HOUSE = Path(__file__).parents[1] / "src" / "readroom"
LONG = 50
"""Lines of a function that is counted as long."""

WARM = 3
"""Calls of a tool; the last one is measured."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file: its text, its tree, and the modules of the same package that it imports."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def functions(self) -> list[_Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, _Function)]


@dataclass
class Road:
    """What a call ran through, in order of first entry."""

    files: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    calls: int = 0
    changes: int = 0


def modules(folder: Path) -> list[Module]:
    """All modules below a package's folder."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, text, ast.parse(text)))
    return found


def imports(module: Module, names: set[str]) -> set[str]:
    """Modules among `names` that it imports, at its top or inside functions."""
    targets = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            targets |= {name if name in names else node.module for name in whole}
    return (targets & names) - {module.name}


def measures(folder: Path) -> dict[str, str]:
    """The row of the table: what is measured, and the figure."""
    rooms = modules(folder)
    sizes = sorted(room.lines for room in rooms)
    lengths = sorted(_length(node) for room in rooms for node in room.functions)
    names = {room.name for room in rooms}
    graph = {room.name: imports(room, names) for room in rooms}
    importers = Counter(target for targets in graph.values() for target in targets)
    public = [node for room in rooms for node in room.functions if not node.name.startswith("_")]
    documented = sum(bool(ast.get_docstring(node)) for node in public)
    kinds = sum((_kinds(room) for room in rooms), Counter())
    top = [path for path in folder.iterdir() if _is_room(path)]
    return {
        "rooms at the top": f"{len(top)}",
        "modules": f"{len(rooms)}",
        "lines": f"{sum(sizes):,}",
        "code, docstrings, blank, imports, comments": ", ".join(f"{kinds[kind]:,}" for kind in _KINDS),
        "module: median, p90, longest": _spread(sizes),
        "functions": f"{len(lengths):,}",
        "function: median, p90, longest": _spread(lengths),
        f"functions of more than {LONG} lines": f"{sum(n > LONG for n in lengths) / len(lengths):.1%}",
        "functions of at most 3 lines": f"{sum(n <= 3 for n in lengths) / len(lengths):.0%}",
        "classes": f"{sum(isinstance(node, ast.ClassDef) for r in rooms for node in ast.walk(r.tree)):,}",
        "public functions with a docstring": f"{documented / len(public):.0%}",
        "cycles": "none" if _is_acyclic(graph) else "some",
        "modules with one importer": f"{sum(n == 1 for n in importers.values())}",
    }


def _is_room(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())


def _length(node: _Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _spread(values: Sequence[int]) -> str:
    """Median, p90 and largest of sorted values."""
    return f"{statistics.median(values):.0f}, {values[int(0.9 * len(values))]}, {values[-1]}"


def _is_acyclic(graph: Mapping[str, set[str]]) -> bool:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError:
        return False
    return True


_KINDS = ("code", "docstring", "blank", "import", "comment")


def _kinds(module: Module) -> Counter[str]:
    """How many lines are code, and how many something else; each line is of one kind."""
    kinds = dict.fromkeys(range(1, module.lines + 1), "code")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            kind = "import"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            kind = "docstring" if isinstance(node.value.value, str) else "code"
        else:
            continue
        kinds.update(dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), kind))
    for number, line in enumerate(module.text.split("\n"), 1):
        if not line.strip():
            kinds[number] = "blank"
        elif line.lstrip().startswith("#") and kinds[number] == "code":
            kinds[number] = "comment"
    return Counter(kinds[number] for number in range(1, module.lines + 1))


def road(call: Callable[[], object]) -> Road:
    """What `call` runs through in this thread."""
    went = Road()
    last = ""

    def enter(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal last
        file, name = frame.f_code.co_filename, frame.f_code.co_qualname
        if event != "call" or not file.startswith(str(HOUSE)) or "<" in frame.f_code.co_name:
            return
        place = Path(file).relative_to(HOUSE).as_posix()
        went.calls += 1
        went.changes += bool(last) and place != last
        last = place
        if place not in went.files:
            went.files.append(place)
        if f"{place}:{name}" not in went.functions:
            went.functions.append(f"{place}:{name}")

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return went


def roads() -> dict[str, Road]:
    """The roads of four warm calls of the native contract, on a small folder of one's own."""
    from readroom import Workspace

    found: dict[str, Road] = {}
    with TemporaryDirectory(prefix="readroom-road-") as above:
        text = "".join(f"line {number} of a file\n" for number in range(600))
        for name in ("a.py", "b.txt"):
            Path(above, name).write_text(text, encoding="utf-8")
        with Workspace(above) as workspace:
            for turn in range(WARM):
                calls: dict[str, dict[str, object]] = {
                    "read_file": {"path": "a.py"},
                    "grep_files": {"pattern": "line 31"},
                    "list_directory": {},
                    "edit_file": _edit(Path(above, "b.txt"), turn),
                }
                for tool, arguments in calls.items():
                    found[tool] = road(partial(workspace.call, tool, arguments))
    return found


def _edit(file: Path, turn: int) -> dict[str, object]:
    """One more edit of a file, with the hash that it has now."""
    edit = {"old_text": f"line {turn} of a file", "new_text": f"line {turn} of this file"}
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"path": file.name, "expected_hash": f"sha256:{digest}", "edits": [edit]}


def main(words: Sequence[str]) -> None:
    """Print the table, or the roads."""
    if words == ["--roads"]:
        for verb, went in roads().items():
            facts = (
                f"{len(went.functions)} functions in {len(went.files)} files, {went.changes} changes of file"
            )
            print(f"{verb}: {went.calls} calls, {facts}")
        return
    for name, figure in measures(Path(words[0]) if words else HOUSE).items():
        print(f"{name:40} {figure}")


if __name__ == "__main__":
    main(sys.argv[1:])
