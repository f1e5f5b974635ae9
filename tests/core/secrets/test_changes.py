"""Changes beside secrets work, those of secrets are refused alike; neither the past nor git shows one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from readroom.core.contracts import history
from readroom.core.values import Reply
from tests.core.git.making import Repo, needs_git
from tests.core.secrets.planted import Secrets, code, masking, settings_text

CONF = "conf.yaml"

Make: TypeAlias = "Callable[..., Folder]"


class Folder:
    """A repository with secrets, and every reply about it."""

    def __init__(self, root: Path, seed: int, *, git: bool = False) -> None:
        self.secrets = Secrets(seed)
        self.root = root
        root.mkdir()
        text = settings_text(self.secrets)
        if git:
            repo = Repo(root)
            subject = f"add {self.secrets.github} and password={self.secrets.password}"
            repo.commit({CONF: text, "app.py": code(self.secrets)}, subject)
            repo.commit({CONF: text.replace("last: line", "last: one")})
        self.text = text.replace("last: line", "last: two")
        (root / CONF).write_text(self.text)
        (root / "deploy.txt").write_text(f"Deploy with this:\n{self.secrets.pem}\nThen wait.\n")
        self.workspace = masking(root)
        self.said: list[str] = []

    def call(self, tool: str, contract: str = "native", **arguments: Any) -> Reply:
        reply = self.workspace.call(tool, arguments, contract_name=contract)
        facts = json.dumps(reply.build_facts(), default=str, ensure_ascii=False)
        text = f"{reply.text}\n{facts}"
        assert not self.secrets.in_text(text), (tool, arguments, text)
        assert "\x7f" not in text, (tool, arguments, text)
        self.said.append(re.sub(r"\b[0-9a-f]{7,40}\b", "ID", reply.text))
        return reply

    def hash(self, path: str = CONF) -> str:
        return str(self.call("read_file", path=path).build_facts()["content_hash"])

    @property
    def now(self) -> str:
        return (self.root / CONF).read_text()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Folder]]:
    """Makes folders, which are closed."""
    with ExitStack() as opened:

        def made(name: str, seed: int, *, git: bool = False) -> Folder:
            folder = Folder(tmp_path / name, seed, git=git)
            opened.callback(folder.workspace.close)
            return folder

        yield made


def _code(reply: Reply) -> object:
    error: Any = reply.build_facts()["error"]
    return error["code"]


def test_an_edit_beside_secrets_leaves_their_bytes(make: Make) -> None:
    folder = make("a", 1)
    edit = {"old_text": "last: two", "new_text": "last: three"}
    reply = folder.call("edit_file", path=CONF, expected_hash=folder.hash(), edits=[edit])
    assert not reply.is_error
    assert folder.now == folder.text.replace("last: two", "last: three")
    assert reply.build_facts()["content_hash"] == folder.hash()
    again = {"old_text": "name: service", "new_text": "name: services"}
    assert not folder.call("edit_file", path=CONF, expected_hash=folder.hash(), edits=[again]).is_error


def test_a_guess_is_refused_alike_whether_or_not_it_is_right(make: Make) -> None:
    folder = make("a", 1)
    before, replies = folder.now, []
    for guess in (folder.secrets, Secrets(5)):
        own: list[str] = []
        old = f"password: {guess.password}"
        patch = f"--- a/{CONF}\n+++ b/{CONF}\n@@ -4,1 +4,1 @@\n-{old}\n+password: y\n"
        for tool, arguments in (
            ("edit_file", {"path": CONF, "edits": [{"old_text": old, "new_text": "x"}]}),
            ("edit_file", {"path": CONF, "edits": [{"old_text": old, "new_text": "x"}], "dry_run": True}),
            ("write_file", {"path": CONF, "content": settings_text(guess).replace("line", "two")}),
        ):
            reply = folder.workspace.call(tool, {**arguments, "expected_hash": folder.hash()})
            assert reply.is_error
            own.append(reply.text.replace(guess.password, "GUESS"))
        reply = folder.workspace.call("apply_patch", {"patch": patch})
        assert reply.is_error
        own.append(reply.text.replace(guess.password, "GUESS"))
        replies.append(own)
    assert replies[0] == replies[1]
    assert folder.now == before


@pytest.mark.parametrize(
    "edit",
    [
        {"old_text": "password", "new_text": "title"},
        {"lines": "4-4", "new_text": "x\n"},
        {"old_text": "password: ", "new_text": "password: ("},
    ],
)
def test_no_edit_touches_or_uncovers_a_secret(make: Make, edit: dict[str, str]) -> None:
    folder = make("a", 1)
    reply = folder.call("edit_file", path=CONF, expected_hash=folder.hash(), edits=[edit])
    assert reply.is_error
    assert _code(reply) == "masked_place"
    assert folder.now == folder.text


def test_the_first_or_the_last_line_of_a_private_key_stays(make: Make) -> None:
    folder = make("a", 1)
    replies = []
    for word in ("BEGIN", "END"):
        edit = {"old_text": f"-----{word} RSA PRIVATE KEY-----\n", "new_text": ""}
        known = folder.hash("deploy.txt")
        replies.append(folder.call("edit_file", path="deploy.txt", expected_hash=known, edits=[edit]))
        folder.call("read_file", path="deploy.txt")
    assert not replies[0].is_error
    assert _code(replies[1]) == "masked_place"


def test_a_label_that_comes_back_is_refused_as_what_it_is(make: Make) -> None:
    folder = make("a", 1)
    edit = {"old_text": "name: service", "new_text": "name: [masked: AWS key, 40 characters]"}
    reply = folder.call("edit_file", path=CONF, expected_hash=folder.hash(), edits=[edit])
    assert _code(reply) == "mask_returned"
    reply = folder.call(
        "write_file", path="new.txt", expected_hash="absent", content="[masked: AWS key, 40 characters]\n"
    )
    assert _code(reply) == "mask_returned"
    own = folder.root / "notes.txt"
    own.write_text("we saw [masked: AWS key, 40 characters] here\n")
    edit = {
        "old_text": "[masked: AWS key, 40 characters] here",
        "new_text": "[masked: AWS key, 40 characters] there",
    }
    reply = folder.call("edit_file", path="notes.txt", expected_hash=folder.hash("notes.txt"), edits=[edit])
    assert not reply.is_error
    assert own.read_text().endswith("there\n")


def test_copies_and_other_names_show_no_more(make: Make) -> None:
    folder = make("a", 1)
    copy = {"action": "copy", "path": CONF, "to": "copy.txt", "expected_hash": folder.hash()}
    assert not folder.call("change_files", changes=[copy]).is_error
    assert (folder.root / "copy.txt").read_text() == folder.text
    move = {"action": "move", "path": "copy.txt", "to": "moved.py", "expected_hash": folder.hash("copy.txt")}
    assert not folder.call("change_files", changes=[move]).is_error
    assert (folder.root / "moved.py").read_text() == folder.text
    folder.call("read_file", path="moved.py")


def test_the_past_shows_no_secret_and_keeps_it(make: Make) -> None:
    folder = make("a", 1)
    edit = {"old_text": "last: two", "new_text": "last: three"}
    assert not folder.call("edit_file", path=CONF, expected_hash=folder.hash(), edits=[edit]).is_error
    folder.call(history.LIST, history.CONTRACT)
    number = folder.workspace.call(history.LIST, {}, contract_name=history.CONTRACT).build_facts()
    newest = number["changes"][0]["change"]  # type: ignore[index,call-overload]
    folder.call(history.SHOW, history.CONTRACT, change=newest)
    assert not folder.call(history.UNDO, history.CONTRACT, change=newest).is_error
    assert folder.now == folder.text


@needs_git
def test_git_shows_no_secret_and_tells_no_two_apart(make: Make) -> None:
    folders = [make(name, seed, git=True) for name, seed in (("a", 1), ("b", 2))]
    for folder in folders:
        for show in ("changes", "log"):
            folder.call("git", show=show)
            folder.call("git", show=show, path=CONF)
        folder.call("git", show="changes", revision="HEAD~1")
        folder.call("git", show="changes", revision="HEAD~1..HEAD")
        folder.call("git", show="blame", path=CONF)
        folder.call("git", show="blame", path=CONF, revision="HEAD")
        folder.call("git", show="blame", path="app.py")
        folder.call("read_file", path=f"{CONF}@HEAD")
        folder.call("read_file", path="@HEAD~1/app.py")
        folder.call("grep_files", pattern="AKIA", path="@HEAD")
    assert folders[0].said == folders[1].said


@needs_git
def test_git_does_not_tell_whether_a_guess_is_right(make: Make) -> None:
    said = []
    for name, seed in (("a", 1), ("b", 7)):
        folder = make(name, 1, git=True)
        (folder.root / CONF).write_text(settings_text(Secrets(seed)).replace("last: line", "last: one"))
        said.append([folder.call("git", show=show, path=CONF).text[40:] for show in ("changes", "blame")])
    assert said[0] == said[1]


@pytest.mark.parametrize("second", ["Qw92jR14nnK3q", "Qw92jR14nnK3qX"])
def test_cells_that_change_places_take_their_secrets_along(tmp_path: Path, second: str) -> None:
    sources = ['password = "Zx81kQ03mmL2p"', f'password = "{second}"', "print(1)"]
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for text in sources
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "a.ipynb").write_text(json.dumps(book, indent=1))
    workspace = masking(tmp_path)
    digest = workspace.call("read_file", {"path": "a.ipynb"}).build_facts()["content_hash"]
    edit = {"cell": "move 3 after 0", "new_text": ""}
    moved = {"path": "a.ipynb", "expected_hash": digest, "edits": [edit]}
    reply = workspace.call("edit_file", moved)
    now = [one["source"] for one in json.loads((tmp_path / "a.ipynb").read_text())["cells"]]
    assert now == ([*sources[2:], *sources[:2]] if not reply.is_error else sources)
    if reply.is_error:
        assert "masked" in reply.text
    assert reply.is_error == (len(second) == 13)
