"""A root answers alike alone, as one of several, and when a part of it is a root of its own.

Each call is made in the tree as the only root, as the first root beside another, as another root, and with
one of its folders taken out and served as a root of that name.  The answers are the same up to names.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.caller import Caller
from readroom.core.values import Reply

_SHELL = Caller(face="cli")
"""Is not told about folders in its first reply."""

_CODE = '''"""Orders and what is due."""


class Order:
    """An order of the needle shop."""

    def total(self) -> int:
        """The needle total."""
        return 3


def needle_count(order: Order) -> int:
    return order.total()
'''

FILES: Mapping[str, str] = {
    "readme.md": "# Shop\n\nAll about the needle.\n\n## Use\n\nSee lib.\n",
    "app/main.py": _CODE,
    "app/secrets/key.txt": "needle, which nobody may see\n",
    "app/.gitignore": "*.log\nbuild/\n",
    "app/run.log": "needle\n",
    "app/build/out.txt": "needle\n",
    "lib/order.py": _CODE,
    "lib/deep/er/notes.txt": "".join(f"line {n} needle\n" for n in range(700)),
    "lib/.gitignore": "ignored.txt\n",
    "lib/ignored.txt": "needle\n",
    "lib/.env": "NEEDLE=1\n",
    "lib/.hidden/x.txt": "needle\n",
    "lib/ünï.txt": "needle\n",
    "lib/we ird [1].txt": "needle\n",
    "zoo.csv": "name,needle\nant,1\nbee,2\n",
}


def _planted(root: Path) -> Path:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with zipfile.ZipFile(root / "lib" / "packed.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("in/a.txt"), "needle in a zip\n")
        archive.writestr(zipfile.ZipInfo("in/.env"), "NEEDLE=1\n")
    (root / "lib" / "wide.txt").write_text("a needle, far and wide\n" * 3, encoding="utf-16-le")
    (root / "lib" / "latin.txt").write_text("größer needle é\n", encoding="latin-1")
    (root / "app" / "old.txt.gz").write_bytes(gzip.compress(b"needle, packed\n", mtime=0))
    (root / "app" / "image.bin").write_bytes(bytes(range(256)) * 9 + b"needle")
    (root / "lib" / "inner").symlink_to("deep/er")
    (root / "lib" / "out").symlink_to("../../elsewhere")
    (root / "readroom.toml").write_text('[policy]\ndeny = ["secrets/"]\n')
    for folder, _, names in os.walk(root):
        for name in names:
            if not os.path.islink(os.path.join(folder, name)):
                os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))
    return root


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("read_file", {"path": name}) for name in (*FILES, "lib", "lib/packed.zip", "nope.txt", "lib/nope")),
    ("read_file", {"path": "lib/deep/er/notes.txt", "offset": -5}),
    ("read_file", {"path": "lib/inner/notes.txt", "limit": 300}),
    ("read_file", {"path": "lib/out/x"}),
    ("read_file", {"path": "lib/packed.zip!/in/a.txt"}),
    ("read_file", {"path": "lib/packed.zip!/in/.env"}),
    ("read_file", {"path": "lib/order.py", "view": "outline"}),
    ("read_file", {"path": "lib/order.py", "symbol": "Order.total"}),
    ("read_file", {"path": "lib/order.py", "symbol": "Ordre"}),
    ("list_directory", {"path": "lib"}),
    ("list_directory", {"path": "lib", "depth": 5, "sort": "size"}),
    ("list_directory", {"path": "app", "include": ["ignored"]}),
    ("list_directory", {"path": "lib/packed.zip"}),
    ("list_directory", {"path": "lib/nope"}),
    ("list_directory", {"path": ".", "depth": 4}),
    ("list_directory", {"path": ".", "depth": 2, "limit": 4}),
    ("list_directory", {"path": ".", "glob": ["**/*.txt"]}),
    ("grep_files", {"pattern": "needle"}),
    ("grep_files", {"pattern": "needle", "path": "lib", "include": ["hidden", "ignored", "archives"]}),
    ("grep_files", {"pattern": "needle", "limit": 97}),
    ("grep_files", {"pattern": "needle", "output": "count"}),
    ("grep_files", {"pattern": "needle shop", "fixed": True, "sort": "relevance"}),
    ("grep_files", {"pattern": "needle", "glob": ["lib/**"]}),
    ("grep_files", {"pattern": "total", "path": "lib/order.py", "context": 1}),
    ("grep_files", {"pattern": "no such thing"}),
    ("grep_files", {"pattern": "needle", "include": ["compressed"], "limit": 90}),
    ("grep_files", {"pattern": "(?i)NEEDLE.*(WIDE|é|packed)", "include": ["compressed", "hidden"]}),
    ("grep_files", {"pattern": "needle", "documents": True, "type": "md"}),
    ("grep_files", {"pattern": "needle\\nline", "multiline": True, "output": "files"}),
    ("grep_files", {"pattern": "(unclosed"}),
    ("find_relevant", {"query": "needle total of an order", "path": "lib"}),
    ("find_relevant", {"query": "needle total of an order"}),
)


def _all_pages(workspace: Workspace, tool: str, arguments: dict[str, Any]) -> Iterator[Reply]:
    call: Any = {"tool": tool, "arguments": arguments}
    for _ in range(20):
        reply = workspace.call(call["tool"], call["arguments"], caller=_SHELL)
        yield reply
        call = reply.facts.get("next")
        if reply.is_error or call is None:
            return
    raise AssertionError(f"{tool} {arguments} has no end")


def _text(replies: Iterator[Reply]) -> str:
    return "\n".join(reply.text for reply in replies)


_CURSOR = re.compile(r'"cursor":"[^"]*"')


def _same(text: str) -> str:
    """A text without what names other roots, and without cursors, which hold a hash of their arguments."""
    text = re.sub(r" ?Other folders of this workspace: [^\]]*?\.(?=[ \]])", "", text)
    return _CURSOR.sub("", text).replace("[]", "[end of list]")


_TOP = re.compile(r',"path":"\."|(?<=\{)"path":"\.",')
"""The path of the only root, which its callers may leave out."""


def _id(call: tuple[str, dict[str, Any]]) -> str:
    return f"{call[0]} {call[1]}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _planted(tmp_path_factory.mktemp("tree") / "shop")


@pytest.fixture(scope="module")
def alone(tree: Path) -> Iterator[Workspace]:
    with Workspace(tree) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def as_first(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    other = tmp_path_factory.mktemp("other") / "zz"
    other.mkdir()
    with Workspace(tree, f"zz={other}") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def as_other(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("empty"), f"B={tree}") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def split(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("split")
    shutil.copytree(tree, folder / "shop", symlinks=True)
    shutil.move(folder / "shop" / "lib", folder / "lib")
    with Workspace(folder / "shop", f"lib={folder / 'lib'}") as workspace:
        yield workspace


@pytest.mark.parametrize("call", CALLS, ids=_id)
def test_the_first_root_answers_as_if_it_were_alone(
    call: tuple[str, dict[str, Any]], alone: Workspace, as_first: Workspace
) -> None:
    """But for the other root, an empty folder, in what lists the top."""
    tool, arguments = call
    expected, found = _text(_all_pages(alone, tool, arguments)), _text(_all_pages(as_first, tool, arguments))
    if tool == "list_directory" and arguments["path"] == ".":
        assert "zz/" in found or "glob" in arguments
        return
    assert _same(found) == _same(expected)


@pytest.mark.parametrize("call", CALLS, ids=_id)
def test_another_root_answers_as_if_it_were_alone(
    call: tuple[str, dict[str, Any]], alone: Workspace, as_other: Workspace
) -> None:
    """Up to its name in front of every path."""
    tool, arguments = call
    path = arguments.get("path", ".")
    there = {**arguments, "path": "B" if path == "." else f"B/{path}"}
    expected, found = _text(_all_pages(alone, tool, arguments)), _text(_all_pages(as_other, tool, there))
    shown = re.sub(r"(?<![\w/])B/", "", found).replace('"path":"B"', '"path":"."')
    shown = re.sub(r"^B \|", ". |", shown, flags=re.M)
    if tool == "find_relevant":  # the name is a part of each path, and paths have a part in the ranking
        assert shown.splitlines()[1] == expected.splitlines()[1]
        return
    assert _same(_TOP.sub("", shown)) == _same(_TOP.sub("", expected))


@pytest.mark.parametrize("call", CALLS, ids=_id)
def test_a_folder_that_is_a_root_of_its_own_changes_no_answer(
    call: tuple[str, dict[str, Any]], alone: Workspace, split: Workspace
) -> None:
    tool, arguments = call
    expected, found = _text(_all_pages(alone, tool, arguments)), _text(_all_pages(split, tool, arguments))
    assert _same(found) == _same(expected)
