"""The [changes] of a configuration: an operator decides, a folder can only forbid."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import BadConfig, Protected
from readroom.core.policy.changes import ChangePolicy
from readroom.core.stores.local import LocalStore
from readroom.core.workspace import Workspace


def changes(root: Path, *, own: str = "", operator: str | None = None) -> ChangePolicy:
    if own:
        (root / "readroom.toml").write_text(f"[changes]\n{own}\n", encoding="utf-8")
    explicit = None
    if operator is not None:
        explicit = root / "operator.toml"
        explicit.write_text(f"[changes]\n{operator}\n", encoding="utf-8")
    return config.load(LocalStore(root), explicit).changes


def test_by_default_files_are_changed_and_links_are_not_followed(tmp_path: Path) -> None:
    assert changes(tmp_path) == ChangePolicy(read_only=False, follow_links=False, split_hardlinks=False)


def test_an_operator_decides_each(tmp_path: Path) -> None:
    given = "read_only = true\nfollow_links = true\nsplit_hardlinks = true"
    assert changes(tmp_path, operator=given) == ChangePolicy(True, True, True)


def test_a_folder_can_forbid_changes(tmp_path: Path) -> None:
    assert changes(tmp_path, own="read_only = true").read_only
    forbidding = "follow_links = false\nsplit_hardlinks = false"
    allowed = changes(tmp_path, own=forbidding, operator="follow_links = true\nsplit_hardlinks = true")
    assert allowed == ChangePolicy()


@pytest.mark.parametrize("own", ["follow_links = true", "split_hardlinks = true"])
def test_a_folder_cannot_allow_what_the_operator_does_not(tmp_path: Path, own: str) -> None:
    with pytest.raises(BadConfig):
        changes(tmp_path, own=own)
    with pytest.raises(BadConfig):
        changes(tmp_path, own="read_only = false", operator="read_only = true")


@pytest.mark.parametrize("given", ['read_only = "yes"', "read_only = 1", "readonly = true"])
def test_values_and_keys_of_another_form_are_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(BadConfig):
        changes(tmp_path, operator=given)


def test_the_operators_file_is_not_changed_where_it_lies_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    file = tmp_path / "ops" / "policy.toml"
    file.write_text("[changes]\nfollow_links = true\n", encoding="utf-8")
    store = LocalStore(tmp_path)
    with Workspace(store, settings=config.load(store, file)) as workspace:
        with pytest.raises(Protected):
            workspace.write("ops/policy.toml", "", "0" * 64)
        (tmp_path / "link").symlink_to("ops/policy.toml")
        with pytest.raises(Protected):
            workspace.write("link", "", "0" * 64)
        workspace.write("ops/other.toml", "", "absent")
