"""Configuration: what an operator may say, and what a folder may say of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from readroom.core import config
from readroom.core.errors import BadConfig, Denied, HardLinked, NotFound
from readroom.core.limits import CONFIG_FILE_BYTES, REPLY_BYTES, Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from tests.each import each


def own(text: str | bytes, **files: str) -> config.Settings:
    """The settings of a folder with that `readroom.toml`."""
    return config.load(MemoryStore({"readroom.toml": text, **files}))


def operators(tmp_path: Path, text: str, own_text: str | None = None) -> config.Settings:
    """The settings with that file of an operator."""
    path = tmp_path / "operator.toml"
    path.write_text(text, encoding="utf-8")
    files = {} if own_text is None else {"readroom.toml": own_text}
    return config.load(MemoryStore(files), path)


def allows(settings: config.Settings, path: str, *, folder: bool = False) -> bool:
    return config.guard(MemoryStore(), settings).allows(WorkPath(path), folder=folder)


def test_without_files_the_defaults_stand() -> None:
    settings = config.load(MemoryStore())
    assert settings.limits == Limits()
    assert (settings.hardlinks, settings.files) == ("warn", ())
    assert allows(settings, "a")
    assert not allows(settings, ".env")


def test_settings_made_by_hand_keep_the_built_in_denials() -> None:
    assert not allows(config.Settings(limits=Limits(grep_limit=3)), ".env")


def test_a_folder_can_deny_more_and_the_rule_is_named() -> None:
    settings = own('[policy]\ndeny = ["private/", "*.dump", "!ok.dump", "!.env"]')
    assert not allows(settings, "private/x")
    assert not allows(settings, "a.dump")
    assert allows(settings, "ok.dump")
    assert not allows(settings, ".env")
    with pytest.raises(Denied) as caught:
        config.guard(MemoryStore(), settings).open("private/x")
    assert caught.value.facts["source"] == "readroom.toml"
    assert settings.files == ("readroom.toml",)


def test_an_allow_list_leaves_nothing_else() -> None:
    settings = own('[policy]\nallow = ["src/"]')
    assert allows(settings, "src/a")
    assert not allows(settings, "README.md")
    assert not allows(settings, "src/.env")
    assert not allows(own("[policy]\nallow = []"), "a")


def test_lists_of_operator_and_folder_both_stand(tmp_path: Path) -> None:
    settings = operators(tmp_path, '[policy]\nallow = ["src/"]\ndeny = ["x"]', '[policy]\nallow = ["src/a/"]')
    assert allows(settings, "src/a/f")
    assert not allows(settings, "src/b/f")
    assert not allows(settings, "src/a/x")


def test_limits_can_be_lowered_from_inside_and_raised_by_the_operator(tmp_path: Path) -> None:
    assert own("[limits]\ngrep_limit = 5\ngrep_timeout_s = 2").limits == Limits(
        grep_limit=5, grep_timeout_s=2.0
    )
    settings = operators(tmp_path, "[limits]\ngrep_limit = 500", "[limits]\ngrep_limit = 300")
    assert settings.limits.grep_limit == 300


def test_every_limit_is_a_key() -> None:
    for field in fields(Limits):
        value = getattr(Limits(), field.name) or REPLY_BYTES
        assert getattr(own(f"[limits]\n{field.name} = {value}").limits, field.name) == value


@pytest.mark.parametrize(
    ("operator", "inside", "result"),
    [
        ("", "", "warn"),
        ('hardlinks = "refuse"', "", "refuse"),
        ('hardlinks = "refuse"', 'hardlinks = "warn"', "refuse"),
        ('hardlinks = "warn"', 'hardlinks = "refuse"', "refuse"),
    ],
)
def test_hard_links_can_be_refused_and_not_taken_back(
    tmp_path: Path, operator: str, inside: str, result: str
) -> None:
    assert operators(tmp_path, f"[policy]\n{operator}", f"[policy]\n{inside}").hardlinks == result


def test_refusing_hard_links_reaches_the_guard(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "readroom.toml").write_text('[policy]\nhardlinks = "refuse"', encoding="utf-8")
    store = config.open_store(tmp_path)
    with pytest.raises(HardLinked):
        config.guard(store, config.load(store)).open("a")


def test_an_operators_exceptions_take_back_built_in_denials_only(tmp_path: Path) -> None:
    settings = operators(
        tmp_path,
        '[policy]\nexceptions = ["certs/*.pem", ".npmrc"]\ndeny = [".npmrc"]',
        '[policy]\ndeny = ["*.x"]',
    )
    assert allows(settings, "certs/ca.pem")
    assert not allows(settings, ".npmrc")
    assert not allows(settings, "certs/a.x")


@each(
    ("text", "key", "advice"),
    [
        ('[policy]\ndenny = ["a"]', "policy.denny", "'deny'"),
        ("[limit]\nx = 1", "limit", "'limits'"),
        ('deny = ["a"]', "deny", "policy, "),
        ("policy = 3", "policy", "[policy]"),
        ("[policy.deny]\nx = 1", "policy.deny", "deny = ["),
        ('[policy]\ndeny = "a"', "policy.deny", "deny = ["),
        ("[policy]\ndeny = [1]", "policy.deny", "deny = ["),
        ('[policy]\ndeny = ["a", "[z"]', "policy.deny[1]", ".gitignore"),
        ('[policy]\ndeny = [""]', "policy.deny[0]", ".gitignore"),
        ('[policy]\ndeny = ["#x"]', "policy.deny[0]", ".gitignore"),
        ('[policy]\nallow = ["!a"]', "policy.allow[0]", "deny"),
        ('[policy]\nhardlinks = "maybe"', "policy.hardlinks", '"refuse"'),
        ("[policy]\nhardlinks = true", "policy.hardlinks", '"refuse"'),
        ('[policy]\nexceptions = ["*.pem"]', "policy.exceptions", "--config"),
        ("[limits]\nreply_bytes = 99999999", "limits.reply_bytes", "--config"),
        ("[limits]\nreply_bytes = 10", "limits.reply_bytes", "2048"),
        ("[limits]\ngrep_limit = 0", "limits.grep_limit", "1"),
        ("[limits]\ngrep_limit = 1.5", "limits.grep_limit", "grep_limit = "),
        ("[limits]\ngrep_limit = true", "limits.grep_limit", "grep_limit = "),
        ('[limits]\ngrep_limit = "5"', "limits.grep_limit", "grep_limit = "),
        ("[limits]\ngrep_timeout_s = nan", "limits.grep_timeout_s", "0.1"),
        ("[limits]\ngrep_timeout_s = inf", "limits.grep_timeout_s", "0.1"),
        ("[limits]\ngrep_timeout_s = -1", "limits.grep_timeout_s", "0.1"),
        ("[limits]\ngrep_limit = 0x" + "f" * 9999, "limits.grep_limit", "1"),
        ("[limits]\ngrep_limit = " + "9" * 9999, "", "syntax"),
        ("a = " + "[" * 9999, "", "sections"),
        ("not toml", "", "syntax"),
        (b"\xff\xfe", "", "syntax"),
        ("#" * (CONFIG_FILE_BYTES + 1), "", ".readroomignore"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_is_named_with_its_key(text: str | bytes, key: str, advice: str) -> None:
    with pytest.raises(BadConfig) as caught:
        own(text)
    assert (caught.value.facts["where"], caught.value.facts["key"]) == ("readroom.toml", key)
    assert advice in caught.value.advice


def test_an_operators_file_has_to_be_there(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.toml", tmp_path):
        with pytest.raises(BadConfig) as caught:
            config.load(MemoryStore(), path)
        assert caught.value.facts["where"] == str(path)


@pytest.mark.parametrize("target", ["../secret.toml", "/etc/passwd", "readroom.toml", "."])
def test_a_configuration_that_leads_elsewhere_is_an_error(target: str) -> None:
    store = MemoryStore()
    store.link("readroom.toml", target)
    with pytest.raises(BadConfig):
        config.load(store)


def test_a_pipe_in_its_place_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "readroom.toml")
    with pytest.raises(BadConfig):
        config.load(LocalStore(tmp_path))


def test_a_root_is_a_path_or_a_store(tmp_path: Path) -> None:
    store = MemoryStore()
    assert config.open_store(store) is store
    assert config.open_store(str(tmp_path)).folder == config.open_store(tmp_path).folder
    with pytest.raises(NotFound):
        config.open_store(tmp_path / "nothing")


_values = st.recursive(
    st.integers() | st.booleans() | st.floats() | st.text("ab!*[/", max_size=4),
    lambda inner: st.lists(inner, max_size=3),
)
_keys = st.sampled_from(["deny", "allow", "hardlinks", "exceptions", "reply_bytes", "grep_limit", "x"])


@given(
    st.dictionaries(st.sampled_from(["policy", "limits", "y"]), st.dictionaries(_keys, _values, max_size=3))
)
def test_no_file_in_a_folder_allows_more_than_the_defaults(document: dict[str, dict[str, object]]) -> None:
    text = "".join(
        f"[{section}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())
        for section, keys in document.items()
    )
    try:
        settings = own(text)
        guard = config.guard(MemoryStore(), settings)
    except BadConfig:
        return
    before = Guard(MemoryStore())
    for path in (".env", "a/id_rsa", ".git/x", "a.pem", "b"):
        assert before.allows(WorkPath(path), folder=False) or not guard.allows(WorkPath(path), folder=False)
    for field in fields(Limits):
        found = getattr(settings.limits, field.name)
        assert found is None or found <= (getattr(Limits(), field.name) or REPLY_BYTES)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[commands]\nread = ["/", "/no/such/place"]', "commands.read[1]"),
        ('[commands]\nenvironment = ["A", "A=B"]', "commands.environment[1]"),
    ],
)
def test_one_of_a_list_is_named_with_its_number(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "operator.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        config.load(MemoryStore(), file)
    assert caught.value.facts["key"] == key


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
