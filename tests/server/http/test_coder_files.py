"""What today's agent of coder has besides reading, writing, editing and listing: paths, archives, uploads."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import stat
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.contracts.coder import packing
from readroom.contracts.coder.uploads import NAME_BYTES, chat_of, file_name, numbered
from readroom.core.config import load
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values.packing import PackLimits
from readroom.core.workspace import Workspace
from tests.contracts.adapters.coder import asked
from tests.contracts.cases import Answer
from tests.each import each

CHAT = "00000000-0000-0000-0000-00000000000a"
MEMORY = "/home/me/p"


def fetched(
    workspace: Workspace, address: str, method: str = "GET", body: object = None, **query: Any
) -> Answer:
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return asyncio.run(asked(workspace, method, f"/api/v0/{address}", query, data))


@contextmanager
def following(root: Path) -> Iterator[Workspace]:
    """A workspace in which changes follow links."""
    store = LocalStore(root)
    found = load(store)
    settings = replace(found, changes=replace(found.changes, follow_links=True))
    with Workspace(store, settings=settings) as workspace:
        yield workspace


# --- resolve-path -----------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A root with links of all kinds, and a secret beside it."""
    root = tmp_path / "p"
    (root / "real" / "deep").mkdir(parents=True)
    (root / "real" / "file").write_text("x", encoding="utf-8")
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (root / ".env").write_text("s", encoding="utf-8")
    for name, target in (
        ("link", "real"),
        ("absolute", str(root / "real")),
        ("file", "real/file"),
        ("dangling", "real/none/yet"),
        ("real/up", "../real/deep"),
        ("chain", "link"),
        ("loop", "loop"),
        ("out", "../secret"),
        ("outside", "/etc"),
        ("env", ".env"),
        ("keys", ".ssh/id_rsa"),
        ("far", "../../../../../../../../etc/none"),
    ):
        (root / name).symlink_to(target)
    return root


@pytest.mark.clause("coder.today.resolve")
@each(
    ("path", "resolved"),
    [
        ("real/file", "real/file"), ("link/file", "real/file"), ("absolute/file", "real/file"),
        ("file", "real/file"), ("chain/deep", "real/deep"), ("link/up", "real/deep"),
        ("", ""), ("./link/../link/file", "real/file"), ("nothing", "nothing"),
        # What is missing is kept behind the links that lead to it.
        ("link/new", "real/new"), ("chain/a/b/c", "real/a/b/c"), ("dangling", "real/none/yet"),
        ("dangling/more", "real/none/yet/more"), ("link/up/new", "real/deep/new"),
        ("absolute/new", "real/new"),
    ],
)  # fmt: skip
def test_a_path_is_resolved_as_far_as_it_exists(linked: Path, path: str, resolved: str) -> None:
    with Workspace(linked) as workspace:
        found = fetched(workspace, "resolve-path", path=f"{linked}/{path}")
    assert (found.status, found.json) == (200, {"resolved_path": f"{linked}/{resolved}".rstrip("/")})


@pytest.mark.clause("coder.today.resolve", "coder.deviation.confinement")
@each("path", ["out", "outside/passwd", "far", "env", "keys", ".env", ".env/x", "keys/x", "link/../out"])
def test_no_link_is_resolved_to_what_may_not_be_seen(linked: Path, path: str) -> None:
    with Workspace(linked) as workspace:
        found = fetched(workspace, "resolve-path", path=f"{linked}/{path}")
    assert found.status == 403
    assert found.json["message"].startswith(f"permission denied: {linked}/{path}")
    assert "secret" not in found.words
    if path in ("env", "keys"):
        assert ".env" not in found.words.replace("'.env'", "")


@pytest.mark.clause("coder.today.resolve")
def test_a_path_that_cannot_be_resolved_is_refused(linked: Path) -> None:
    with Workspace(linked) as workspace:
        relative = fetched(workspace, "resolve-path", path="real/file")
        loop = fetched(workspace, "resolve-path", path=f"{linked}/loop/x")
        missing = fetched(workspace, "resolve-path")
        through = fetched(workspace, "resolve-path", path=f"{linked}/real/file/x")
    assert (relative.status, relative.json["message"]) == (400, 'file path must be absolute: "real/file"')
    assert (loop.status, loop.json["message"]) == (
        500,
        f'too many levels of symlinks resolving "{linked}/loop/x"',
    )
    assert (missing.status, missing.json["validations"][0]["field"]) == (400, "path")
    assert through.status == 400


def test_a_store_in_memory_resolves_its_links() -> None:
    store = MemoryStore({"real/a": "x"})
    store.roots = (MEMORY,)
    with Workspace(store) as workspace:
        for path in ("real/a", "real/new/b", "none"):
            found = fetched(workspace, "resolve-path", path=f"{MEMORY}/{path}")
            assert found.json == {"resolved_path": f"{MEMORY}/{path}"}


@pytest.mark.clause("coder.today.resolve")
def test_where_a_path_resolves_a_write_arrives(linked: Path) -> None:
    with following(linked) as workspace:
        resolved = fetched(workspace, "resolve-path", path=f"{linked}/link/new").json["resolved_path"]
        assert fetched(workspace, "write-file", "POST", b"new", path=f"{linked}/link/new").status == 200
    assert Path(resolved).read_bytes() == b"new"


# --- zip-files --------------------------------------------------------------------------------


class Archive:
    """A zip archive that was received."""

    def __init__(self, answer: Answer) -> None:
        assert answer.status == 200, answer.words
        assert answer.headers["content-type"] == "application/zip"
        archive = zipfile.ZipFile(io.BytesIO(answer.body))
        assert archive.testzip() is None
        self.files = {name: archive.read(name) for name in archive.namelist()}
        self.modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        assert list(self.files)[-1] == "manifest.json"
        self.manifest: dict[str, Any] = json.loads(self.files.pop("manifest.json"))

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(error["requested"], error["reason"]) for error in self.manifest["errors"]]


def zipped(workspace: Workspace, *paths: str) -> Archive:
    return Archive(fetched(workspace, "zip-files", "POST", {"paths": [*paths]}))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    for name in (
        "a.log",
        "d/b.log",
        "d/e/c.log",
        "d/skip.txt",
        ".hidden/h.log",
        "brace/1.log",
        "brace/2.txt",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"in {name}", encoding="utf-8")
    (root / ".env").write_text("SECRET", encoding="utf-8")
    return root


@pytest.mark.clause("coder.today.zip", "coder.deviation.home")
@each(
    ("pattern", "names"),
    [
        ("{root}/a.log", ["a.log"]),
        ("~/a.log", ["a.log"]),
        ("$HOME/d/*.log", ["d/b.log"]),
        ("${{HOME}}/d/**/*.log", ["d/b.log", "d/e/c.log"]),
        ("~/**/*.log", [".hidden/h.log", "a.log", "brace/1.log", "d/b.log", "d/e/c.log"]),
        ("~/d/**", ["d/b.log", "d/e/c.log", "d/skip.txt"]),
        ("~/brace/*.{{log,txt}}", ["brace/1.log", "brace/2.txt"]),
        ("~/[ab].lo?", ["a.log"]),
        ("~/*/e/c.log", ["d/e/c.log"]),
        ("{root}/d/../d/./b.log", ["d/b.log"]),
        (" ~/a.log\n", ["a.log"]),
    ],
)
def test_paths_and_globs_are_packed_under_their_absolute_names(
    logs: Path, pattern: str, names: list[str]
) -> None:
    asked_as = pattern.format(root=logs)
    with Workspace(logs) as workspace:
        archive = zipped(workspace, asked_as)
    inside = {f"files{logs}/{name}": f"in {name}".encode() for name in names}
    assert archive.files == inside
    for name, row in zip(names, archive.manifest["files"], strict=True):
        file = (logs / name).stat()
        assert row == {
            "requested": asked_as, "path": f"{logs}/{name}", "archive_path": f"files{logs}/{name}",
            "size": file.st_size, "mod_time": row["mod_time"], "bytes_written": file.st_size,
            "truncated": False,
        }  # fmt: skip
        assert row["mod_time"].endswith("Z")
    assert archive.manifest["requested"] == [asked_as]
    assert archive.manifest["limits"] == {
        "max_files": 10_000, "max_bytes_per_file": 10 * 1024 * 1024, "max_total_bytes": 100 * 1024 * 1024,
    }  # fmt: skip
    assert archive.manifest["truncated"] is False


@pytest.mark.clause("coder.today.zip")
def test_a_file_that_several_patterns_name_is_packed_once(logs: Path) -> None:
    with Workspace(logs) as workspace:
        archive = zipped(
            workspace, "~/a.log", f"{logs}/./a.log", "~/*.log", f"{logs}/d/../a.log", "~/d/b.log"
        )
    assert [row["path"] for row in archive.manifest["files"]] == [f"{logs}/a.log", f"{logs}/d/b.log"]
    assert len(archive.files) == 2


@pytest.mark.clause("coder.today.zip")
def test_what_cannot_be_packed_is_named_and_does_not_stop_the_rest(logs: Path) -> None:
    os.mkfifo(logs / "pipe")
    with Workspace(logs) as workspace:
        archive = zipped(
            workspace, "relative.log", "", "~/missing.log", "~/d", "~/pipe", "~/no/**/*.log", "~/[", "~/a.log"
        )
    assert list(archive.files) == [f"files{logs}/a.log"]
    assert archive.reasons == [
        ("relative.log", "relative path not allowed"),
        ("", "empty path"),
        ("~/missing.log", "does not exist"),
        ("~/d", "not a regular file: directory"),
        ("~/pipe", "not a regular file: named pipe"),
        ("~/no/**/*.log", "no matches"),
        ("~/[", "no matches"),
    ]
    assert archive.manifest["errors"][2]["path"] == f"{logs}/missing.log"
    assert archive.manifest["truncated"] is False


@pytest.mark.clause("coder.today.zip.policy", "coder.deviation.packed")
def test_nothing_that_policy_denies_is_packed(logs: Path) -> None:
    (logs / "d" / ".env").write_text("SECRET", encoding="utf-8")
    (logs / "other-name").hardlink_to(logs / ".env")
    (logs / "link.log").symlink_to(".env")
    (logs / "out.log").symlink_to("/etc/passwd")
    (logs.parent / "other.log").write_text("SECRET", encoding="utf-8")
    with Workspace(logs) as workspace:
        patterns = ("~/.env", "~/link.log", "~/out.log", "~/**", f"{logs.parent}/*.log", "/etc/passwd")
        archive = zipped(workspace, *patterns)
    assert not [name for name, data in archive.files.items() if b"SECRET" in data or b"root:" in data]
    assert len(archive.files) == 7
    assert f"files{logs}/other-name" not in archive.files
    why = dict(archive.reasons[:3])
    assert all(why[name].startswith(f"permission denied: {logs}/") for name in patterns[:3])
    assert ("~/**", "2 names below it are denied by policy") in archive.reasons
    assert [reason for asked_as, reason in archive.reasons if asked_as == "~/**"][:2] == [
        "not a regular file: symlink"
    ] * 2
    assert sum("it is outside the workspace" in reason for _, reason in archive.reasons) == 3
    told = json.dumps(archive.manifest)
    assert "SECRET" not in told
    assert "other.log" not in told


@pytest.mark.clause("coder.today.zip.policy")
def test_a_link_is_packed_where_it_is_asked_for_and_not_where_a_glob_finds_it(logs: Path) -> None:
    (logs / "link.log").symlink_to("d/b.log")
    (logs / "folder").symlink_to("d")
    with Workspace(logs) as workspace:
        archive = zipped(workspace, "~/link.log", "~/folder/b.log", "~/folder/*.log", "~/link*")
    assert archive.files == {
        f"files{logs}/link.log": b"in d/b.log",
        f"files{logs}/folder/b.log": b"in d/b.log",
    }
    symlink, denied = "not a regular file: symlink", "1 name below it is denied by policy"
    assert archive.reasons == [("~/link*", why) for why in (symlink, denied, "no matches")]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LIMITS", PackLimits(files=2, file_bytes=4, total_bytes=7))


@pytest.mark.clause("coder.today.zip.limits")
@pytest.mark.usefixtures("small")
def test_the_end_of_a_large_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"0123456789")
    (tmp_path / "next").write_bytes(b"abcdef")
    with Workspace(tmp_path) as workspace:
        archive = zipped(workspace, "~/large", "~/next")
    assert [*archive.files.values()] == [b"6789", b"def"]
    rows = archive.manifest["files"]
    assert [(row["size"], row["bytes_written"], row["truncated"]) for row in rows] == [
        (10, 4, True), (6, 3, True),
    ]  # fmt: skip
    assert archive.manifest["truncated"] is True


@pytest.mark.clause("coder.today.zip.limits")
@pytest.mark.usefixtures("small")
@each(
    ("patterns", "packed", "reasons"),
    [
        (["~/?"], 2, ["file count limit reached"]),
        (["~/1", "~/2", "~/3", "~/4"], 2, ["file count limit reached"]),
        (["~/long", "~/1", "~/2"], 2, ["file count limit reached"]),
    ],
)
def test_a_limit_of_files_ends_the_archive(
    tmp_path: Path, patterns: list[str], packed: int, reasons: list[str]
) -> None:
    for name in ("1", "2", "3", "4", "long"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        archive = zipped(workspace, *patterns)
    assert len(archive.files) == packed
    assert [reason for _, reason in archive.reasons] == reasons
    assert archive.manifest["truncated"] is True


@pytest.mark.clause("coder.today.zip.limits")
def test_a_limit_of_bytes_ends_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LIMITS", PackLimits(files=9, file_bytes=9, total_bytes=4))
    for name in ("1", "2", "3"):
        (tmp_path / name).write_text("four", encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        archive = zipped(workspace, "~/1", "~/2", "~/3")
    assert archive.reasons == [("~/2", "total byte limit reached")]
    assert archive.manifest["errors"][0]["path"] == f"{tmp_path}/2"
    assert archive.manifest["truncated"] is True


@pytest.mark.clause("coder.today.zip.limits")
def test_patterns_beyond_the_limit_are_named(logs: Path) -> None:
    paths = ["~/a.log", *["~/missing.log"] * 31, "~/one", "~/two"]
    with Workspace(logs) as workspace:
        archive = zipped(workspace, *paths)
    assert archive.manifest["requested"] == paths
    assert archive.manifest["errors"] == [
        {"requested": "~/one", "reason": "requested path pattern limit reached"},
        {"requested": "~/two", "reason": "requested path pattern limit reached"},
        {"requested": "~/missing.log", "path": f"{logs}/missing.log", "reason": "does not exist"},
    ]
    assert archive.manifest["truncated"] is True


@pytest.mark.clause("coder.today.zip")
def test_a_body_that_is_none_is_refused(logs: Path) -> None:
    with Workspace(logs) as workspace:
        large = fetched(workspace, "zip-files", "POST", {"paths": ["~/" + "a" * 70_000]})
        text = fetched(workspace, "zip-files", "POST", b"x")
        empty = zipped(workspace)
        unknown = fetched(workspace, "zip-files", "POST", {"paths": [], "format": "tar"})
    assert (large.status, large.json["detail"]) == (400, "request body too large")
    assert (text.status, text.json["message"]) == (400, "Request body must be valid JSON.")
    assert (empty.files, empty.manifest["files"], empty.manifest["errors"]) == ({}, [], [])
    assert unknown.status == 400


def test_an_odd_name_is_packed_and_a_mode_is_kept(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe.log")
    (tmp_path / odd).write_bytes(b"odd")
    (tmp_path / "run.log").write_bytes(b"#!")
    (tmp_path / "run.log").chmod(0o755)
    os.utime(tmp_path / "run.log", ns=(0, 0))
    with Workspace(tmp_path) as workspace:
        archive = zipped(workspace, "~/*.log")
        again = zipped(workspace, archive.manifest["files"][1]["path"])
    assert sorted(archive.files.values()) == [b"#!", b"odd"]
    assert [*again.files.values()] == [b"odd"]
    assert stat.S_IMODE(archive.modes[f"files{tmp_path}/run.log"]) == 0o755
    assert archive.manifest["files"][0]["mod_time"] == "1970-01-01T00:00:00Z"


@pytest.mark.skipif(shutil.which("unzip") is None, reason="needs unzip")
def test_an_archive_is_unpacked_by_another_program(logs: Path, tmp_path: Path) -> None:
    with Workspace(logs) as workspace:
        body = fetched(workspace, "zip-files", "POST", {"paths": ["~/**/*.log"]}).body
    (tmp_path / "a.zip").write_bytes(body)
    subprocess.run(["unzip", "-q", "a.zip"], cwd=tmp_path, check=True)
    assert (tmp_path / f"files{logs}" / "d" / "b.log").read_text(encoding="utf-8") == "in d/b.log"


# --- upload-chat-file -------------------------------------------------------------------------


def upload(workspace: Workspace, name: str | bytes, body: bytes = b"data", chat: str = CHAT) -> Answer:
    return fetched(workspace, "upload-chat-file", "POST", body, chat_id=chat, name=name)


@pytest.mark.clause("coder.today.upload")
@each(
    ("name", "kept"),
    [
        ("archive.zip", "archive.zip"), ("../etc/secret file.zip", "secret_file.zip"),
        ("a\\b\\c.txt", "c.txt"), ("..hidden", "hidden"), ("a \t\n b", "a_b"),
        ("\u00e9t\u00e9.md", "\u00e9t\u00e9.md"),
        ("x/", "x"), ("  spaced  ", "spaced"), ("CON:", "CON:"),
        (b"\xff\xfe.txt", "\ufffd\ufffd.txt"), ('"a.txt"', '"a.txt"'),
    ],
)  # fmt: skip
def test_an_upload_is_kept_under_the_last_part_of_its_name(
    tmp_path: Path, name: str | bytes, kept: str
) -> None:
    with Workspace(tmp_path) as workspace:
        found = upload(workspace, name, b"\x00\xffdata")
    path = tmp_path / ".coder" / "chats" / CHAT / "files" / kept
    assert (found.status, found.json) == (200, {"path": str(path), "name": kept, "size": 6})
    assert path.read_bytes() == b"\x00\xffdata"


@pytest.mark.clause("coder.today.upload")
def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    folder = tmp_path / ".coder" / "chats" / CHAT / "files"
    with following(tmp_path) as workspace:
        names = [upload(workspace, "a.tar.gz", body).json["name"] for body in (b"1", b"2", b"3")]
        (folder / "b").mkdir()
        (folder / "b_2").symlink_to("a.tar.gz")
        (folder / "b_3").symlink_to("nowhere")
        fourth = upload(workspace, "b", b"4")
    assert names == ["a.tar.gz", "a.tar_2.gz", "a.tar_3.gz"]
    assert [(folder / name).read_bytes() for name in names] == [b"1", b"2", b"3"]
    assert fourth.json["name"] == "b_4"
    assert not (folder / "nowhere").exists()


@pytest.mark.clause("coder.today.upload")
def test_uploads_at_the_same_time_overwrite_nothing(tmp_path: Path) -> None:
    bodies = [b"%d" % number for number in range(12)]
    with Workspace(tmp_path) as workspace:
        sending = [threading.Thread(target=upload, args=(workspace, "a.txt", body)) for body in bodies]
        for thread in sending:
            thread.start()
        for thread in sending:
            thread.join()
    folder = tmp_path / ".coder" / "chats" / CHAT / "files"
    assert sorted(file.read_bytes() for file in folder.iterdir()) == sorted(bodies)


@pytest.mark.clause("coder.today.upload")
def test_names_run_out(tmp_path: Path) -> None:
    folder = tmp_path / ".coder" / "chats" / CHAT / "files"
    folder.mkdir(parents=True)
    for number in range(1, 1001):
        (folder / numbered("a.zip", number)).touch()
    with Workspace(tmp_path) as workspace:
        found = upload(workspace, "a.zip")
    assert (found.status, found.json["message"]) == (409, "too many existing files with the same name")


@pytest.mark.clause("coder.today.upload")
@each("follows", [True, False])
@each("level", [".coder", ".coder/chats", f".coder/chats/{CHAT}", f".coder/chats/{CHAT}/files"])
def test_a_folder_that_is_a_link_takes_no_upload(tmp_path: Path, level: str, follows: bool) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / level).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / level).symlink_to(tmp_path / "target")
    opened = following(tmp_path) if follows else Workspace(tmp_path)
    with opened as workspace:
        found = upload(workspace, "a.zip")
    assert found.status == 403
    assert "workspace upload directory must not contain symlinks" in found.json["message"]
    assert [*(tmp_path / "target").rglob("*")] == []


@pytest.mark.clause("coder.today.upload")
@each(
    ("chat", "name", "says"),
    [
        ("", "a", '"chat_id" is required'), (CHAT, "", '"name" is required'),
        ("../etc", "a", '"chat_id" must be a valid uuid'), ("a/b", "a", '"chat_id" must be a valid uuid'),
        (CHAT[:-1], "a", "uuid"), (CHAT, "....", "workspace upload file name is required"),
        (CHAT, "   ", "workspace upload file name is required"), (CHAT, "/", "file name is required"),
        (CHAT, "..", "workspace upload file name is required"), (CHAT, " \t", "file name is required"),
    ],
)  # fmt: skip
def test_an_upload_without_chat_or_name_is_refused(tmp_path: Path, chat: str, name: str, says: str) -> None:
    with Workspace(tmp_path) as workspace:
        found = upload(workspace, name, chat=chat)
    assert found.status == 400
    assert says in json.dumps(found.json).replace('\\"', '"')
    assert not (tmp_path / ".coder").exists()


@pytest.mark.clause("coder.today.upload", "coder.deviation.upload_size")
def test_an_upload_is_bounded_and_goes_through_policy(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        large = upload(workspace, "a", bytes(16 * 1024 * 1024 + 1))
        denied = upload(workspace, "id_rsa")
    assert (large.status, denied.status) == (413, 403)
    assert "16777217 bytes" in large.json["message"]
    assert denied.json["message"].startswith("permission denied: ")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    store = LocalStore(tmp_path)
    found = load(store)
    with Workspace(
        store, settings=replace(found, changes=replace(found.changes, read_only=True))
    ) as workspace:
        assert upload(workspace, "a").status == 403


@each(
    ("text", "chat"),
    [
        (CHAT, CHAT), (CHAT.upper(), CHAT), (f"urn:uuid:{CHAT}", CHAT), (f"{{{CHAT}}}", CHAT),
        (CHAT.replace("-", ""), CHAT), (f"{{{CHAT}", None), (f" {CHAT}", None),
        (f"{CHAT}\n", None), ("x", None),
    ],
)  # fmt: skip
def test_a_uuid_has_one_form(text: str, chat: str | None) -> None:
    assert chat_of(text) == chat


@given(st.text(), st.integers(1, 1000))
def test_every_name_is_one_that_a_folder_can_have(name: str, number: int) -> None:
    safe = file_name(name)
    if safe:
        given = numbered(safe, number)
        assert not set("/\\\0 \n") & set(given)
        assert not given.startswith(".")
        assert len(given.encode()) <= NAME_BYTES


# --- unknown addresses ------------------------------------------------------------------------


@pytest.mark.clause("coder.today.unknown", "coder.deviation.other_addresses")
@each(
    ("method", "name"),
    [
        ("GET", "nothing"),
        ("POST", "desktop/action"),
        ("DELETE", "containers"),
        ("GET", "read-file/x"),
        ("PUT", ""),
    ],
)
def test_an_unknown_address_is_refused_in_the_form_of_the_contract(method: str, name: str) -> None:
    with Workspace(MemoryStore({})) as workspace:
        found = fetched(workspace, name, method)
    assert found.status == 404
    assert found.json == {
        "message": "Route not found.", "detail": "GET /openapi.json lists every address.",
    }  # fmt: skip


@pytest.mark.clause("coder.today.unknown")
@each(("method", "name", "allowed"), [("POST", "read-file", "GET"), ("GET", "edit-files", "POST")])
def test_another_method_is_refused_in_the_form_of_the_contract(method: str, name: str, allowed: str) -> None:
    with Workspace(MemoryStore({})) as workspace:
        found = fetched(workspace, name, method)
    assert (found.status, found.headers["allow"]) == (405, allowed)
    assert found.json == {
        "message": f"This address does not accept {method}.", "detail": f"Use {allowed}.",
    }  # fmt: skip
