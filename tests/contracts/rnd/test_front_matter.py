"""Command files: what they may say, and how a bad one is refused by the name of its key."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.contracts.rnd.front_matter import FRONT_MATTER_BYTES, published, read_front_matter
from readroom.core import config
from readroom.core.errors import BadConfig, Protected
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each


def parsed(text: str) -> object:
    return read_front_matter("read.md", f"---\n{text}\n---\n# The command\n".encode())


def test_the_published_command_is_the_default() -> None:
    found = published()
    assert (found.max_bytes, found.max_lines, found.timeout_seconds) == (1_000_000, 2000, 30)
    assert found.allowed_paths == ("**/*.py", "**/*.md", "**/*.json", "**/*.toml", "**/*.yaml")
    assert found.denied_paths == (".env", ".env.*", "secrets/**", "**/*secret*", "**/*password*")


def test_what_is_left_out_is_as_published() -> None:
    found = read_front_matter(
        "x", b"\xef\xbb\xbf---\r\nlimits:\r\n  max_lines: 7\r\ndescription: own\r\n---\r\nrest \xff"
    )
    assert (found.max_lines, found.max_bytes) == (7, 1_000_000)
    assert found.denied_paths == published().denied_paths


@pytest.mark.clause("rnd.write_root")
@pytest.mark.parametrize(
    "text", ["write_root: out", "safety: {write_root: out}", "limits: {write_root: out}"]
)
def test_a_boundary_that_no_read_obeys_is_refused(text: str) -> None:
    with pytest.raises(BadConfig) as caught:
        parsed(text)
    assert "write_root" in str(caught.value)


@pytest.mark.parametrize("key", ["max_bytes", "max_lines", "timeout_seconds"])
def test_a_number_that_is_advised_is_accepted(key: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_front_matter("read.md", f"---\nlimits: {{{key}: -1}}\n---\n".encode())
    advised = caught.value.advice.removeprefix("Write ").removesuffix(".")
    assert read_front_matter("read.md", f"---\nlimits: {{{advised}}}\n---\n".encode()) is not None


@each(
    ("text", "key"),
    [
        ("name: grep", "name"),
        ("limits: 3", "limits"),
        ("limits: {max_line: 3}", "limits.max_line"),
        ("limits: {max_lines: '3'}", "limits.max_lines"),
        ("limits: {max_lines: true}", "limits.max_lines"),
        ("limits: {max_lines: 0}", "limits.max_lines"),
        ("limits: {max_bytes: 1.5}", "limits.max_bytes"),
        ("limits: {max_bytes: 99999999999999999999}", "limits.max_bytes"),
        ("limits: {timeout_seconds: .inf}", "limits.timeout_seconds"),
        ("limits: {timeout_seconds: .nan}", "limits.timeout_seconds"),
        ("limits: {timeout_seconds: -1}", "limits.timeout_seconds"),
        ("safety: [a]", "safety"),
        ("safety: {denied_path: []}", "safety.denied_path"),
        ("safety: {denied_paths: '*'}", "safety.denied_paths"),
        ("safety: {denied_paths: [1]}", "safety.denied_paths[0]"),
        ("safety: {allowed_paths: ['a', '!b']}", "safety.allowed_paths[1]"),
        ("safety: {allowed_paths: ['#a']}", "safety.allowed_paths[0]"),
        ("safety: {allowed_paths: ['']}", "safety.allowed_paths[0]"),
        ("safety: {denied_paths: ['a[']}", "safety.denied_paths[0]"),
        ("safety: {sandbox: false}", "safety.sandbox"),
        ("safety: {reads_files: no}", "safety.reads_files"),
        ("safety: {denied_paths: [a]}\nsafety: {denied_paths: []}", "safety"),
        ("safety:\n  denied_paths: [a]\n  denied_paths: []", "safety.denied_paths"),
        ("- a", ""),
        ("a: [", ""),
        ("a: !!python/object/apply:os.system ['id']", ""),
        ("a: &x [1]\nb: *x", ""),
        ("a: " + "[" * 40 + "]" * 40, ""),
        ("a: [" + "1, " * 3000 + "]", ""),
        ("a: 2020-99-99", ""),
        ("? [a, b]\n: c", ""),
    ],
)
def test_a_bad_file_is_refused_by_its_key(text: str, key: str) -> None:
    with pytest.raises(BadConfig) as caught:
        parsed(text)
    assert caught.value.facts["key"] == key
    assert "read.md" in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# no fence",
        b"---\nname: read\n",
        b"---\n\xff\n---\n",
        b"---\n" + b"#" * FRONT_MATTER_BYTES + b"\n---\n",
    ],
)
def test_a_file_without_front_matter_is_refused(data: bytes) -> None:
    with pytest.raises(BadConfig):
        read_front_matter("read.md", data)


@given(
    st.binary(max_size=200)
    | st.text(st.sampled_from("-[]{}:,&*!|>'\"%@` \n?a1.~#"), max_size=200).map(str.encode)
)
def test_no_front_matter_raises_anything_else(data: bytes) -> None:
    with contextlib.suppress(BadConfig):
        read_front_matter("x", b"---\n" + data + b"\n---\n")


def test_the_operators_file_names_a_command_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("---\nlimits: {max_lines: 5}\n---\n", encoding="utf-8")
    (tmp_path / "c.toml").write_text('[contracts.rnd]\nfront_matter = "own.md"\n', encoding="utf-8")
    settings = config.load(MemoryStore(), tmp_path / "c.toml")
    assert getattr(settings.contracts["rnd"], "max_lines", None) == 5


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[contracts.rnd]\nfront_mater = 'x'", "contracts.rnd.front_mater"),
        ("[contracts.rnd]\nfront_matter = 3", "contracts.rnd.front_matter"),
        ("[contracts]\nrnd = 3", "contracts.rnd"),
        ("[contracts.native]\nx = 3", "contracts.native"),
    ],
)
def test_a_bad_section_is_refused_by_its_key(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        config.load(MemoryStore(), tmp_path / "c.toml")
    assert caught.value.facts["key"] == key


def test_a_file_inside_the_workspace_cannot_choose_what_may_be_read() -> None:
    store = MemoryStore({"readroom.toml": '[contracts.rnd]\nfront_matter = "x.md"\n', "x.md": "---\n---\n"})
    with pytest.raises(BadConfig) as caught:
        config.load(store)
    assert caught.value.facts["key"] == "contracts.rnd.front_matter"


def test_a_missing_or_odd_command_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.md", tmp_path):
        with pytest.raises(BadConfig) as caught:
            config.load(LocalStore(tmp_path), contracts={"rnd": {"front_matter": str(path)}})
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("by_option", [True, False])
def test_a_command_file_in_the_workspace_cannot_be_changed(tmp_path: Path, by_option: bool) -> None:
    command, operator = tmp_path / "own.md", tmp_path / "c.toml"
    command.write_text("---\n---\n", encoding="utf-8")
    operator.write_text('[contracts.rnd]\nfront_matter = "own.md"\n', encoding="utf-8")
    store = LocalStore(tmp_path)
    settings = (
        config.load(store, contracts={"rnd": {"front_matter": str(command)}})
        if by_option
        else config.load(store, operator)
    )
    with Workspace(store, settings=settings) as workspace, pytest.raises(Protected):
        workspace.write("own.md", "---\n---\nmore\n", hash_of(command))


def hash_of(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
