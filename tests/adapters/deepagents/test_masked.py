"""Law: where secrets are masked, the backend of deepagents gives no part of one and confirms no guess."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.adapters.deepagents import WorkspaceBackend
from tests.laws.masked import PLAIN, STORED, Layout, Secrets, masking, plant

pytest.importorskip("detect_secrets", reason="needs the extra `audit`")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


def looks(backend: WorkspaceBackend, path: str) -> Iterator[object]:
    """Everything that shows a file, and changes that touch a secret of it."""
    yield backend.read(path)
    yield backend.read(path, 3, 5)
    yield backend.download_files([path])
    for pattern in ("password", "AKIA", ": "):
        yield backend.grep(pattern, path)
    yield backend.edit(path, "password: ", "secret")
    yield backend.edit(path, ": ", "= ", True)
    yield backend.write(path, "x")
    yield backend.upload_files([(path, b"x")])


def guesses(backend: WorkspaceBackend, guess: str) -> Iterator[str]:
    """The replies to one who guesses, with the guess taken out."""
    asked = (
        backend.grep(guess),
        backend.glob(f"*{guess}*"),
        backend.read(f"/{guess}"),
        backend.edit("/conf.yaml", guess, "x"),
        backend.edit("/conf.yaml", f"password: {guess}", "x"),
    )
    yield from (repr(one).replace(guess, "GUESS") for one in asked)


def test_nothing_is_given_to_deepagents(tmp_path: Path) -> None:
    secrets, files = Secrets(31), {**PLAIN, **STORED}
    plant(tmp_path, Layout(31), secrets, files)
    with masking(tmp_path) as workspace:
        backend = WorkspaceBackend(workspace)
        for path in files:
            for said in looks(backend, f"/{path}"):
                body = repr(said).encode()
                assert not secrets.heard(body), (path, secrets.heard(body)[:3])
                assert b"\\x7f" not in body, path


def test_a_right_guess_is_told_what_a_wrong_one_is(tmp_path: Path) -> None:
    """The same guesses at two folders, of which each has secrets that the other has not."""
    said, every = [], Secrets(31).guesses + Secrets(32).guesses
    for seed in (31, 32):
        plant(tmp_path / str(seed), Layout(31), Secrets(seed), {"conf.yaml": PLAIN["conf.yaml"]})
        with masking(tmp_path / str(seed)) as workspace:
            backend = WorkspaceBackend(workspace)
            said.append([one for guess in every for one in guesses(backend, guess)])
    assert said[0] == said[1]
