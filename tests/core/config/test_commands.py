"""[commands] of the operator's file and of the folder's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.policy.commands import CommandPolicy


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def loaded(
    root: Path, operator: str | None = None, own: str | None = None, *, allow: bool = False
) -> CommandPolicy:
    if own is not None:
        (root / "readroom.toml").write_text(f"[commands]\n{own}")
    file = root.parent / "operator.toml"
    if operator is not None:
        file.write_text(f"[commands]\n{operator}")
    explicit = None if operator is None else file
    return config.load(config.open_store(root), explicit, allow_commands=allow).commands


def test_everything_is_closed_without_a_word(root: Path) -> None:
    found = loaded(root)
    assert found == CommandPolicy()
    assert (found.enabled, found.confinement, found.network) == (False, "any", False)
    assert (found.version_control, found.read, found.write, found.environment) == ("read", (), (), ())


def test_the_operator_opens_what_they_like(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "t")
    monkeypatch.delenv("NOT_SET", raising=False)
    text = (
        'enabled = true\nconfinement = "bwrap"\nnetwork = true\nversion_control = "write"\n'
        f'read = ["{root.parent}"]\nwrite = ["/tmp"]\nenvironment = ["TOKEN", "NOT_SET"]\n'
    )
    found = loaded(root, text)
    assert found == CommandPolicy(
        True, "bwrap", True, "write", (str(root.parent),), ("/tmp",), (("TOKEN", "t"),)
    )


def test_a_home_folder_can_be_written_with_a_tilde(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    assert loaded(root, 'read = ["~/root"]').read == (str(root),)


def test_the_folder_can_forbid(root: Path) -> None:
    found = loaded(
        root, "network = true", 'enabled = false\nnetwork = false\nversion_control = "hidden"', allow=True
    )
    assert (found.enabled, found.network, found.version_control) == (False, False, "hidden")
    assert found.forbidden_by == "readroom.toml"


@pytest.mark.parametrize(
    "own",
    [
        "enabled = true",
        "network = true",
        'version_control = "write"',
        'confinement = "none"',
        'confinement = "landlock"',
        'read = ["/etc"]',
        'write = ["/tmp"]',
        'environment = ["PATH"]',
    ],
)
def test_the_folder_can_open_nothing(root: Path, own: str) -> None:
    with pytest.raises(BadConfig, match="can only forbid"):
        loaded(root, own=own)


def test_what_the_folder_says_again_changes_nothing(root: Path) -> None:
    assert loaded(root, "enabled = true", "enabled = true").enabled


@pytest.mark.parametrize(
    "text",
    [
        'enabled = "yes"',
        "network = 1",
        'confinement = "docker"',
        "confinement = true",
        'version_control = "all"',
        'read = "/etc"',
        'read = ["relative"]',
        'read = ["/no/such/place"]',
        'read = ["/et\\u0000c"]',
        "write = [1]",
        'environment = ["A=B"]',
        'environment = [""]',
        "enabeld = true",
    ],
)
def test_a_value_that_cannot_be_used_is_named(root: Path, text: str) -> None:
    with pytest.raises(BadConfig) as caught:
        loaded(root, text)
    assert text.split(" ")[0] in str(caught.value)
