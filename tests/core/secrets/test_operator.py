"""The operator alone decides whether secrets are masked, and is told where they cannot be."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core import config
from readroom.core.errors import BadConfig, MissingProgram
from readroom.core.secrets import judge
from readroom.core.stores.local import LocalStore
from tests.core.secrets.planted import Secrets, settings_text

SECRETS = Secrets(7)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one file that has secrets."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "conf.yaml").write_text(settings_text(SECRETS))
    return folder


def read(root: Path, **how: Any) -> tuple[str, dict[str, Any]]:
    store = LocalStore(str(root))
    with Workspace(store, settings=config.load(store, **how)) as workspace:
        reply = workspace.call("read_file", {"path": "conf.yaml"})
        return reply.text, dict(reply.build_facts())


def test_secrets_are_shown_unless_the_operator_says_otherwise(root: Path, tmp_path: Path) -> None:
    assert SECRETS.password in read(root)[0]
    assert SECRETS.password not in read(root, mask_secrets=True)[0]
    own = tmp_path / "own.toml"
    own.write_text("[secrets]\nmask = true\n")
    assert SECRETS.password not in read(root, explicit=str(own))[0]
    own.write_text("[secrets]\nmask = false\n")
    assert SECRETS.password in read(root, explicit=str(own))[0]
    assert SECRETS.password not in read(root, explicit=str(own), mask_secrets=True)[0]


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("masks", [True, False])
def test_a_folder_has_no_say(root: Path, value: str, masks: bool) -> None:
    """Refused in either direction, and the folder can be served once the line is gone, as is said."""
    inside = root / "readroom.toml"
    inside.write_text(f"[secrets]\nmask = {value}\n")
    with pytest.raises(BadConfig) as caught:
        read(root, mask_secrets=masks)
    said = f"{caught.value.message} {caught.value.advice}"
    assert "secrets.mask" in said
    assert "--config" in said
    inside.unlink()
    assert (SECRETS.password in read(root, mask_secrets=masks)[0]) is not masks


def test_every_label_is_counted_and_named(root: Path) -> None:
    text, facts = read(root, mask_secrets=True)
    (warning,) = [one for one in facts["warnings"] if one["code"] == "masked"]
    assert text.count("[masked: ") == 5
    assert warning["detail"].startswith("5 places")
    for kind in ("AWS key (2)", "password or key", "password in an address", "Slack token"):
        assert kind in warning["detail"]


@contextmanager
def _without_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = builtins.__import__

    def imported(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("detect_secrets"):
            raise ImportError(name)
        return real(name, *rest, **more)

    judge.detectors.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", imported)
        yield
    judge.detectors.cache_clear()


def test_without_the_library_the_start_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is served unmasked, and the command that installs it is named."""
    with _without_library(monkeypatch):
        with pytest.raises(MissingProgram) as caught:
            read(root, mask_secrets=True)
        assert "pip install 'readroom[audit]'" in f"{caught.value} {caught.value.advice}"
        assert SECRETS.password in read(root)[0]


def test_the_library_is_not_loaded_where_nothing_is_masked(root: Path) -> None:
    script = (
        "import sys; from readroom import Workspace\n"
        "with Workspace(sys.argv[1]) as found: found.read('conf.yaml')\n"
        "print([name for name in sys.modules if 'secrets.' in name or name.startswith('detect_secrets')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(root)], capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout.replace("'", '"'))) <= {"readroom.core.secrets.shown"}


def test_a_command_line_masks(root: Path) -> None:
    call = ["call", "read_file", '{"path": "conf.yaml"}', "--root", str(root)]
    for options, shown in (([], True), (["--mask-secrets"], False)):
        line = [sys.executable, "-m", "readroom", *call, *options]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        assert (SECRETS.password in done.stdout) is shown
        assert ("[masked: " in done.stdout) is not shown


def test_a_file_too_large_to_hold_is_not_edited(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from readroom.core.secrets import changes

    monkeypatch.setattr(changes, "CHANGED_BYTES", 50)
    store = LocalStore(str(root))
    before = (root / "conf.yaml").read_bytes()
    with closing(store), Workspace(store, settings=config.load(store, mask_secrets=True)) as workspace:
        known = workspace.call("read_file", {"path": "conf.yaml"}).build_facts()["content_hash"]
        edit = {"old_text": "last: line", "new_text": "last: one"}
        arguments = {"path": "conf.yaml", "expected_hash": known, "edits": [edit]}
        error: Any = workspace.call("edit_file", arguments).build_facts()["error"]
    assert error["code"] == "too_large"
    assert "Ask the user" in json.dumps(error)
    assert (root / "conf.yaml").read_bytes() == before
