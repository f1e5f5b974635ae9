"""Law: where secrets are masked, no reply holds a part of one, and no pair of replies tells two apart.

Each kind that is judged is planted in each form of file, and every contract is called.  What is known to tell
two folders apart stands in `DIFFER`, and on the page.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import pytest

from readroom import Workspace
from readroom.core.contracts.base import tool_result
from readroom.core.secrets import judge
from readroom.core.secrets.shapes import KINDS, PRIVATE_KEY
from tests.laws.masked import (
    MEMBERS,
    PLAIN,
    SHAPES,
    STORED,
    Layout,
    Secrets,
    dumped,
    masking,
    plant,
    without,
)
from tests.laws.masked_calls import (
    CONTRACTS,
    Call,
    followed,
    guessed_changes,
    looks,
    of_contract,
    reads,
    searches,
)
from tests.suites import daily, whole

pytest.importorskip("detect_secrets", reason="needs the extra `audit`")

PAGE = Path(__file__).parents[2] / "docs/how-to/mask-secrets.md"

DIFFER = {
    "files that hold text in another form": "have the hash and the size of what is stored",
    "commits": "Identifiers of commits tell two commits apart",
    "names of files": "A secret in the name of a file or folder is shown",
}
"""Places that tell two folders apart all the same, and the words of the page about them."""

MOST = 3
"""Replies that are looked at for one call, with those that it names."""

Said: TypeAlias = "tuple[Call, bytes]"


@dataclass(frozen=True)
class Folder:
    """A folder with secrets, as one caller sees it."""

    root: Path
    secrets: Secrets
    workspace: Workspace

    def says(self, contract: str, calls: Iterable[Call]) -> Iterator[Said]:
        """Everything that leaves for the calls, without what tells two runs apart."""
        for call in calls:
            for one, reply in followed(self.workspace, contract, call, MOST):
                yield one, without(dumped(tool_result(reply)), self.root)

    def heard(self, said: Said) -> list[str]:
        """The parts of secrets that are heard in an answer, but for those of the question itself."""
        call, body = said
        return [run for run in self.secrets.heard(body) if run not in json.dumps(call)]


@contextmanager
def folders(tmp_path: Path, seed: int, files: Any, names: str = "ab") -> Iterator[list[Folder]]:
    """Folders of one layout with other secrets."""
    with ExitStack() as opened:
        found = []
        for number, name in enumerate(names):
            secrets = Secrets(100 * seed + number)
            plant(tmp_path / name, Layout(seed), secrets, files)
            workspace = opened.enter_context(masking(tmp_path / name))
            found.append(Folder(tmp_path / name, secrets, workspace))
        yield found


def require_silence(folder: Folder, contract: str, calls: Iterable[Call]) -> None:
    """Require that nothing is heard of a secret."""
    for said in folder.says(contract, calls):
        assert not folder.heard(said), (contract, said[0], folder.heard(said)[:3])
        assert b"\x7f" not in said[1], (contract, said[0])
        assert b"\\u007f" not in said[1], (contract, said[0])


def require_the_same(pair: list[Folder], contract: str, calls: Iterable[Call]) -> None:
    """Require that both folders answer alike."""
    every = list(calls)
    for one, other in zip(*(folder.says(contract, every) for folder in pair), strict=True):
        calls_too = [
            (without(dumped(call), folder.root), body)
            for folder, (call, body) in zip(pair, (one, other), strict=True)
        ]
        assert calls_too[0] == calls_too[1]


# --- the law would notice ------------------------------------------------------------------------


def test_every_kind_is_planted() -> None:
    assert {*SHAPES, PRIVATE_KEY} == set(KINDS.values())


@pytest.mark.parametrize("seed", range(10))
def test_every_secret_that_is_planted_is_judged_whole(seed: int) -> None:
    for kind, line, secret in Secrets(seed).lines:
        at = line.index(secret)
        places = judge.places(line.encode())
        assert any(place.start <= at and place.end >= at + len(secret) for place in places), (kind, line)


def test_a_secret_is_heard_in_every_form() -> None:
    secrets = Secrets(1)
    for own in secrets.own:
        for form in (own, own[1:9], quote(own, safe=""), json.dumps(own), own.encode().hex()):
            assert secrets.heard(f"before {form} after".encode()), (own, form)
        for before in ("", "x", "xy") if len(own) > 12 else ():
            coded = base64.b64encode(f"{before}{own}".encode())
            assert secrets.heard(coded), (own, before)
        assert secrets.heard(own.encode("utf-16-le"))
    assert not Secrets(2).heard("".join(secrets.own).encode())


def test_a_workspace_that_masks_nothing_is_heard(tmp_path: Path) -> None:
    secrets = Secrets(1)
    plant(tmp_path, Layout(1), secrets, PLAIN)
    with Workspace(tmp_path) as workspace:
        for path in PLAIN:
            limit = {"offset": 500} if path == "app.log" else {}
            reply = workspace.call("read_file", {"path": path, **limit})
            assert secrets.heard(dumped(tool_result(reply))), path


# --- our own contract ----------------------------------------------------------------------------

DAILY = ("conf.yaml", "wide.ini", "src/app.py", "rows.jsonl", "docs/page.html", "quoted.eml", MEMBERS[0])
"""Files that stand for the others."""


def test_no_read_shows_a_secret(tmp_path: Path) -> None:
    with folders(tmp_path, 1, {**PLAIN, **STORED}, "a") as (folder,):
        for path in DAILY:
            require_silence(folder, "native", list(reads(path))[:4])
        require_silence(folder, "native", [("grep_files", {"pattern": "[0-9]{3}", "limit": 40})])


def test_no_read_tells_two_secrets_apart(tmp_path: Path) -> None:
    files = {path: PLAIN[path] for path in DAILY if path in PLAIN}
    with folders(tmp_path, 2, files) as pair:
        for path in files:
            require_the_same(pair, "native", list(reads(path))[:4])
        require_the_same(pair, "native", list(searches(pair[0].secrets.guesses[1:2]))[-14:])


@whole
@pytest.mark.parametrize("seed", range(3, 6))
def test_nothing_that_looks_shows_a_secret(tmp_path: Path, seed: int) -> None:
    with folders(tmp_path, seed, {**PLAIN, **STORED}, "a") as (folder,):
        paths = [*PLAIN, *STORED, *MEMBERS]
        require_silence(folder, "native", looks(paths, Secrets(seed + 50).guesses))
        require_silence(folder, "native", searches(folder.secrets.guesses))


@whole
@pytest.mark.parametrize("seed", range(3, 6))
def test_nothing_that_looks_tells_two_secrets_apart(tmp_path: Path, seed: int) -> None:
    with folders(tmp_path, seed, PLAIN) as pair:
        require_the_same(pair, "native", looks(PLAIN, pair[0].secrets.guesses))


# --- changes -------------------------------------------------------------------------------------


@daily(3, "number", range(len(Secrets(1).lines)))
def test_a_guess_in_a_change_is_answered_alike(tmp_path: Path, number: int) -> None:
    """Whether it is right or wrong; nothing is changed."""
    with folders(tmp_path, 7, {"conf.yaml": PLAIN["conf.yaml"]}) as pair:
        before = [(folder.root / "conf.yaml").read_bytes() for folder in pair]
        known: Any = pair[0].workspace.call("read_file", {"path": "conf.yaml"}).facts
        _, line, secret = pair[0].secrets.lines[number]
        calls = list(guessed_changes("conf.yaml", line, secret, known["content_hash"]))
        for one, other in zip(*(folder.says("native", calls) for folder in pair), strict=True):
            assert one == other
            assert json.loads(one[1])["isError"] or one[0][0] == "read_file", one
            assert not pair[1].heard(one)
        assert before == [(folder.root / "conf.yaml").read_bytes() for folder in pair]


# --- the other contracts -------------------------------------------------------------------------


@pytest.mark.parametrize("contract", CONTRACTS)
def test_no_contract_shows_a_secret(tmp_path: Path, contract: str) -> None:
    files = {path: made for path, made in {**PLAIN, **STORED}.items() if path in DAILY}
    with folders(tmp_path, 8, files, "a") as (folder,):
        guesses = Secrets(9).guesses[:2]
        require_silence(folder, contract, of_contract(contract, files, guesses))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_no_contract_tells_two_secrets_apart(tmp_path: Path, contract: str) -> None:
    files = {path: PLAIN[path] for path in ("conf.yaml", "src/app.py")}
    with folders(tmp_path, 10, files) as pair:
        require_the_same(pair, contract, of_contract(contract, files, pair[0].secrets.guesses[:2]))


@whole
@pytest.mark.parametrize("contract", CONTRACTS)
def test_no_contract_shows_or_tells_anything_of_all(tmp_path: Path, contract: str) -> None:
    with folders(tmp_path, 11, {**PLAIN, **STORED}, "a") as (folder,):
        require_silence(folder, contract, of_contract(contract, {**PLAIN, **STORED}, Secrets(50).guesses))
    with folders(tmp_path / "pair", 12, PLAIN) as pair:
        require_the_same(pair, contract, of_contract(contract, PLAIN, pair[0].secrets.guesses))


def test_bytes_for_sandboxes_of_frameworks_are_starred(tmp_path: Path) -> None:
    """Those of plain text; those that hold it in another form are refused."""
    every = {**PLAIN, **STORED}
    with folders(tmp_path, 13, every, "a") as (folder,):
        given = 0
        for path in every:
            reply = folder.workspace.call("read_bytes", {"path": path}, contract_name="sandbox")
            assert not folder.secrets.heard(dumped(tool_result(reply)))
            stream = reply.stream
            if stream is not None:
                data = stream.read(stream.left)
                assert not folder.secrets.heard(data), path
                assert len(data) == (folder.root / path).stat().st_size
                given += 1
        assert given == len(every) - len([path for path in STORED if not path.endswith(".eml")])


def test_the_page_names_what_differs() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for words in DIFFER.values():
        assert words in page, words
