"""Law 5, nothing unguarded: no reply of any tool holds a byte of a denied or outside file.

Random trees, with random links inside, out and round about, hold a canary in
everything that must stay unseen: in contents, and in names below denied folders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.laws.driving import STORES, Driver, StoreName, hints
from tests.laws.places import PlaceName, over_bucket, over_shell
from tests.suites import daily

CANARY = "canary7f3a"
"""In contents that must not be seen."""

GHOST = "ghost9b1c"
"""In names that must not be told: no call holds it."""

OPEN_FOLDERS = ["", "a/", "a/b/", "src/"]
OPEN_FILES = ["one.txt", "two.py", "three.log", ".env.example", "key.pub"]
DENIED = [
    ".env",
    ".env.local",
    ".ENV",
    "server.pem",
    "Id_RSA",
    f".git/{GHOST}",
    ".git/config",
    f".ssh/{GHOST}.txt",
    f"private/{GHOST}",
]
RULES = {".readroomignore": b"private/\n", ".kilocodeignore": b"*.secret\n"}
OUTSIDE = {
    "outside.txt": f"{CANARY} needle\n".encode(),
    f"outside/{GHOST}.txt": b"needle\n",
    f"root-{GHOST}/{GHOST}.txt": f"{CANARY} needle\n".encode(),
}
"""Beside the root, and beginning as it does."""


@dataclass(frozen=True)
class Tree:
    """Files by path, links by path, and whether hard links to denied files are made."""

    files: dict[str, bytes]
    links: dict[str, str]
    hard: dict[str, str]

    @property
    def names(self) -> list[str]:
        return [*self.files, *self.links, *self.hard]


_open_names = st.builds(
    lambda folder, name: folder + name, st.sampled_from(OPEN_FOLDERS), st.sampled_from(OPEN_FILES)
)
_denied_names = st.builds(
    lambda folder, name: folder + name, st.sampled_from(OPEN_FOLDERS), st.sampled_from(DENIED)
)
_secrets = st.sampled_from(
    [
        f"{CANARY} word needle\n".encode(),
        f"needle {CANARY}".encode("utf-16-le"),
        f"x\n{CANARY}=needle\n".encode() * 300,
    ]
)
_plain = st.sampled_from([b"needle\n", b"one\ntwo needle\n" * 50, b""])
_ways = st.sampled_from(["", "./", "../", "../../", "a/../", "/proc/self/cwd/"])


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    files = draw(st.dictionaries(_open_names, _plain, max_size=5))
    files |= draw(st.dictionaries(_denied_names, _secrets, min_size=1, max_size=5))
    targets = st.sampled_from([*files, "a", "src", ".git", "private", "outside.txt", "outside", "link", "."])
    aimed = st.builds(lambda way, target: way + target, _ways, targets)
    links = draw(st.dictionaries(st.sampled_from(["link", "a/link", "src/l.txt", "l.py"]), aimed, max_size=4))
    denied = st.sampled_from([name for name in files if _is_denied(name)])
    hard = draw(st.dictionaries(st.sampled_from(["hard.txt", "src/hard.py"]), denied, max_size=2))
    return Tree(files, {name: to for name, to in links.items() if name not in files}, hard)


def _is_denied(path: str) -> bool:
    return any(path == name or path.endswith("/" + name) for name in DENIED)


@contextmanager
def planted(name: StoreName | PlaceName, tree: Tree) -> Iterator[Store]:
    """The tree under a root whose neighbours hold canaries too."""
    if name == "memory":
        memory = MemoryStore({**RULES, **tree.files})
        for path, to in tree.links.items():
            memory.link(path, to)
        yield memory
        return
    if name == "bucket" or name == "container":
        with over_bucket({**RULES, **tree.files}, OUTSIDE, kind=name) as store:
            yield store
        return
    with TemporaryDirectory(prefix="readroom-law-") as above:
        root = Path(above, "root")
        root.mkdir()
        for path, data in OUTSIDE.items():
            Path(above, path).parent.mkdir(exist_ok=True)
            Path(above, path).write_bytes(data)
        for path, data in {**RULES, **tree.files}.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        for path, to in tree.links.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).symlink_to(to)
        for path, to in tree.hard.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(root / to, root / path)
        yield over_shell(root) if name == "shell" else LocalStore(root, confinement=name)


def calls(tree: Tree) -> Iterator[tuple[str, dict[str, Any]]]:
    """What an attacker tries who knows every name but the ghosts."""
    for include in ([], ["ignored"]):
        yield "list_directory", {"depth": 9, "include": include}
    for include in ([], ["hidden", "ignored", "binary"]):
        for output in ("content", "files", "count"):
            yield "grep_files", {"pattern": "needle", "include": include, "output": output}
    for find in ("passages", "outline", "files"):
        asked = {"query": f"needle {CANARY[:6]}", "output": find, "include": ["hidden", "ignored"]}
        yield "find_relevant", {**asked, "explain": True, "budget_tokens": 9000}
    yield "grep_files", {"pattern": CANARY[:6], "include": ["hidden", "ignored", "binary"], "context": 3}
    yield (
        "grep_files",
        {"pattern": "needle", "include": ["hidden", "ignored"], "glob": [".*", "**/*", ".git/**"]},
    )
    for name in (name for name in tree.names if GHOST not in name):
        for path in {name, f"./{name}", f"a/../{name}", f'"{name}"'}:
            yield "read_file", {"path": path}
        yield "read_file", {"path": name, "offset": -1, "encoding": "utf-16-le"}
        yield "grep_files", {"pattern": "needle", "path": name, "include": ["hidden", "binary"]}
        yield "find_relevant", {"query": "needle", "path": name, "include": ["hidden"]}
        yield "list_directory", {"path": name, "depth": 3}
    for folder in (
        "a",
        "src",
        ".git",
        "private",
        "link",
        "a/link",
        "link/..",
        "..",
        "../outside",
        "a/link/../..",
    ):
        yield "list_directory", {"path": folder, "depth": 4}
        yield "grep_files", {"pattern": "needle", "path": folder, "include": ["hidden", "ignored"]}
        yield "read_file", {"path": f"{folder}/config"}
        yield "read_file", {"path": f"{folder}/outside.txt"}


def told(reply: Reply) -> str:
    """Everything a reply carries."""
    return reply.text + json.dumps(reply.facts) + "".join(str(image.data) for image in reply.images)


@daily(1, "store", STORES)
@settings(max_examples=20)
@given(tree=trees())
def test_no_reply_holds_a_byte_of_a_denied_or_outside_file(store: StoreName, tree: Tree) -> None:
    with planted(store, tree) as files:
        driver = Driver(files)
        assert not driver.call("list_directory").is_error, (
            "a workspace that refuses everything proves nothing"
        )
        for tool, arguments in calls(tree):
            reply = driver.call(tool, **arguments)
            for said in (reply, *(driver.follow(call) for call in hints(reply))):
                assert CANARY not in told(said), (tool, arguments)
                assert GHOST not in told(said), (tool, arguments)


def test_the_canary_is_seen_where_nothing_forbids_it() -> None:
    """The control: the law would notice."""
    driver = Driver(MemoryStore({"open.txt": f"{CANARY} needle\n".encode()}))
    assert CANARY in told(driver.call("read_file", path="open.txt"))
    assert CANARY in told(driver.call("grep_files", pattern="needle"))
