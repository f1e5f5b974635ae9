"""Settings of serving: an unusable value is named with its place, and no secret is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.stores.memory import MemoryStore
from readroom.server import settings as serve
from tests.each import each


@each(
    ("text", "key"),
    [
        ('[serve]\nhosts = ["a", "http://b"]', "serve.hosts[1]"),
        ('[serve]\norigins = ["http://a", "b"]', "serve.origins[1]"),
    ],
)
def test_one_of_a_list_is_named_with_its_number(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "operator.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        serve.load(str(file))
    assert caught.value.facts["key"] == key


def test_the_form_of_an_address_is_shown_without_the_name_of_another_key(tmp_path: Path) -> None:
    file = tmp_path / "operator.toml"
    file.write_text('[serve]\nstate = "mysql://host/db"', encoding="utf-8")
    with pytest.raises(BadConfig, match=r"serve\.state: is not a PostgreSQL address") as caught:
        serve.load(str(file))
    assert caught.value.advice == 'Write it as "postgresql://user@host/database".'


@each(
    ("text", "key"),
    [
        ('[ledger]\nhide = ["command", "everything"]', "ledger.hide[1]"),
        ('[ledger]\nurl = "mysql://me:secret@host/db"', "ledger.url"),
    ],
)
def test_a_value_of_the_ledger_is_named_and_not_repeated(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "operator.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        config.load(MemoryStore(), file)
    assert caught.value.facts["key"] == key
    assert "secret" not in str(caught.value) + caught.value.advice


def test_a_root_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "operator.toml"
    for line, problem in (('root = "docs"', f"{tmp_path}/docs is not a folder"), ("", "is missing")):
        file.write_text(f"[workspaces.docs]\n{line}\n", encoding="utf-8")
        with pytest.raises(BadConfig) as caught:
            serve.load(str(file))
        assert f"workspaces.docs.root: {problem}." in str(caught.value)
