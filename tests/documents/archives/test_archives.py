"""Archives as folders: what is read of a member is what is read of the file, under the same policy."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.quoting import as_value
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.formats.packing import PACK
from tests.documents.reading.making import pdf
from tests.each import each
from tests.hostile import containers as hostile
from tests.hostile import misleading
from tests.hostile.sevens import sevened
from tests.laws.driving import STORES, Driver, StoreName, fact, shown, stored

CANARY = "canary51e2"


PACKERS: Mapping[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "a.zip": lambda tree: hostile.zipped(tree),
    "a.jar": lambda tree: hostile.zipped(tree, zipfile.ZIP_STORED),
    "a.tar": lambda tree: hostile.tarred(tree),
    "a.tar.gz": lambda tree: gzip.compress(hostile.tarred(tree)),
    "a.tar.zst": lambda tree: PACK["zstd"](hostile.tarred(tree)),
    "a.tar.xz": lambda tree: PACK["xz"](hostile.tarred(tree)),
    "a.tar.bz2": lambda tree: PACK["bzip2"](hostile.tarred(tree)),
    "a.7z": sevened,
    "a.pyz": lambda tree: b"#!/usr/bin/env python3\n" + hostile.zipped(tree),
    "a.pex": lambda tree: b"MZ\x90\0" + bytes(4000) + hostile.zipped(tree) + b"signature" * 50,
}

_part = st.text(st.sampled_from("ab é!.'\n\\-"), min_size=1, max_size=5).filter(
    lambda part: part not in (".", "..") and "\\" not in part
)
_paths = st.lists(_part, min_size=1, max_size=3).map("/".join)
_trees = st.dictionaries(
    _paths, st.text(st.sampled_from("ab\né\t"), max_size=300), min_size=1, max_size=6
).filter(lambda tree: not any(other.startswith(f"{path}/") for path in tree for other in tree))


def _entries(pages: Iterator[Reply]) -> list[dict[str, Any]]:
    return [entry for reply in pages for entry in fact(reply, "entries")]


@pytest.mark.parametrize("store", STORES)
@settings(max_examples=12, deadline=None)
@given(tree=_trees, name=st.sampled_from(sorted(PACKERS)))
def test_a_member_reads_like_the_file_that_it_would_be(
    store: StoreName, tree: dict[str, str], name: str
) -> None:
    files = {path: text.encode() for path, text in tree.items()}
    plain = {f"plain/{path}": data for path, data in files.items()}
    with stored(store, {name: PACKERS[name](files), **plain}) as held:
        driver = Driver(held)
        listed = _entries(driver.pages("list_directory", path=name, depth=10, limit=2))
        assert {one["path"] for one in listed if one["kind"] == "file"} == set(map(as_value, files))
        for path, data in files.items():
            member = driver.call("read_file", path=f"{name}!/{path}")
            whole = driver.call("read_file", path=f"plain/{path}")
            assert shown(member) == shown(whole)
            assert fact(member, "content_hash") == fact(whole, "content_hash")
            assert fact(member, "size_bytes") == len(data)
        driver.workspace.close()


def test_images_documents_and_outlines_are_those_of_members() -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 4), "red").save(picture, "PNG")
    tree = {
        "logo.png": picture.getvalue(),
        "paper.pdf": pdf([["words in a paper"]]),
        "code.py": b"def found():\n    return 1\n",
        "big.txt": b"a line of text\n" * 200_000,
    }
    with Workspace(MemoryStore({"a.zip": hostile.zipped(tree)})) as space:
        assert space.read("a.zip!/logo.png").images[0].width == 8
        assert "words in a paper" in space.read("a.zip!/paper.pdf").text
        assert "def found()" in space.read("a.zip!/code.py", view="outline").text
        assert "return 1" in space.read("a.zip!/code.py", symbol="found").text
        assert "200000\ta line of text" in space.read("a.zip!/big.txt", offset=-1).text
        known = str(fact(space.read("a.zip!/code.py"), "content_hash"))
        assert fact(space.read("a.zip!/code.py", known_hash=known), "not_modified") is True


def test_archives_in_archives_are_read_to_a_stated_depth() -> None:
    with Workspace(MemoryStore({"n.zip": hostile.nested(5)})) as space:
        assert "inner" not in space.list("n.zip!/level4.zip").text
        path = "n.zip!/level4.zip!/level3.zip"
        assert "level2.zip" in space.list(path).text
        deeper = space.call("list_directory", {"path": f"{path}!/level2.zip"})
        assert deeper.is_error
        assert "is nested in 3 other archives" in deeper.text
    with Workspace(MemoryStore({"n.zip": hostile.nested(3)})) as space:
        assert "the innermost line" in space.read("n.zip!/level2.zip!/level1.zip!/inner.txt").text


SECRET = {
    ".env": f"TOKEN={CANARY}\n".encode(),
    "app/.env.production": f"TOKEN={CANARY}\n".encode(),
    "secrets/plan.txt": CANARY.encode(),
    "top/secrets/plan.txt": CANARY.encode(),
    "keys/id_rsa": CANARY.encode(),
    "open.txt": b"open words\n",
}


@each("name", sorted(PACKERS))
def test_policy_looks_at_the_name_inside(name: str) -> None:
    """`.env` inside an archive is denied, and what is denied in the root, at any depth, by any road."""
    inner = hostile.zipped(SECRET)
    tree = {**SECRET, "inner.zip": inner, "link.txt": b"x"}
    files = {name: PACKERS[name](tree), ".readroomignore": b"/secrets/\n"}
    with Workspace(MemoryStore(files)) as space:
        replies = [
            space.call("list_directory", {"path": f"{name}{inside}", "depth": 9})
            for inside in ("", "!/inner.zip")
        ]
        for prefix in (f"{name}!", f"{name}!/inner.zip!"):
            replies += [space.call("read_file", {"path": f"{prefix}/{path}"}) for path in SECRET]
            replies.append(
                space.call(
                    "grep_files",
                    {"pattern": "canary|TOKEN|open", "path": prefix, "include": ["hidden", "ignored"]},
                )
            )
            for path in list(SECRET)[:-1]:
                assert replies[-1].is_error is False
                denied = space.call("read_file", {"path": f"{prefix}/{path}"})
                absent = space.call("read_file", {"path": f"{name}!/none/{path.rpartition('/')[2]}"})
                assert fact(denied, "error")["code"] == "denied", path
                if "secrets" not in path:
                    assert fact(absent, "error")["code"] == "denied"
        replies.append(
            space.call(
                "grep_files", {"pattern": "canary|TOKEN|open", "include": ["archives", "hidden", "ignored"]}
            )
        )
        assert "open words" in replies[-1].text
        for reply in replies:
            assert CANARY not in reply.text
            assert "plan.txt" not in reply.text or reply.is_error
        assert fact(replies[0], "denied") == 5


@each(
    "name",
    [
        ".env ",
        ".ENV",
        "id_rsa.",
        "id_rsa .",
        "C:.env",
        "c:/a/id_rsa",
        ".env::$DATA",
        "a/.ssh /x",
        ".env\u200c",
    ],
)
def test_a_member_is_denied_that_is_denied_where_it_is_unpacked(name: str) -> None:
    """Windows leaves drives, streams, and blanks and dots at the end of names out."""
    tree = {name: CANARY, "a. b.txt": "words", "12:30.txt": "words"}
    with Workspace(MemoryStore({"a.zip": hostile.zipped(tree)})) as space:
        listed: Any = space.list("a.zip", depth=5).facts
        assert {entry["path"] for entry in listed["entries"] if entry["kind"] == "file"} == {
            "a. b.txt",
            "12:30.txt",
        }
        assert listed["denied"] == 1
        assert fact(space.call("read_file", {"path": f"a.zip!/{name}"}), "error")["code"] == "denied"
        assert "words" in space.read("a.zip!/12:30.txt").text
        assert "canary" not in space.grep("canary", path="a.zip", include=["hidden"]).text.replace(
            '"canary"', ""
        )


def test_a_denied_archive_has_no_members() -> None:
    data = hostile.zipped({"x.txt": CANARY})
    files = {"private/a.zip": data, "a.secret.zip": data, ".readroomignore": b"private/\n*.secret.zip\n"}
    with Workspace(MemoryStore(files)) as space:
        for path in ("private/a.zip!/x.txt", "a.secret.zip!/x.txt", "private/none.zip!/x.txt"):
            assert fact(space.call("read_file", {"path": path}), "error")["code"] == "denied"
        assert "canary" not in space.call("grep_files", {"pattern": "canary", "include": ["archives"]}).text


def test_an_allowed_archive_allows_its_members(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.zip").write_bytes(hostile.zipped({"x.txt": "words\n", ".env": CANARY}))
    (tmp_path / "other.zip").write_bytes(hostile.zipped({"x.txt": CANARY}))
    (tmp_path / "readroom.toml").write_text('[policy]\nallow = ["docs/*.zip"]\n', encoding="utf-8")
    with Workspace(tmp_path) as space:
        assert "words" in space.read("docs/a.zip!/x.txt").text
        assert fact(space.call("read_file", {"path": "docs/a.zip!/.env"}), "error")["code"] == "denied"
        assert fact(space.call("read_file", {"path": "other.zip!/x.txt"}), "error")["code"] == "denied"


def test_links_are_followed_inside_and_what_they_lead_to_is_asked_for() -> None:
    files = hostile.linked()
    with Workspace(MemoryStore(files)) as space:
        for name in files:
            assert "linked content" in space.read(f"{name}!/good").text
            for link in ("out", "abs", "loop", "denied"):
                reply = space.call("read_file", {"path": f"{name}!/{link}"})
                assert reply.is_error
                assert "SECRET" not in reply.text
                assert "root:" not in reply.text
            assert "passwd" not in space.list(name).text
        assert "linked content" in space.read("links.tar!/hard-good").text
        assert fact(space.call("read_file", {"path": "links.tar!/hard-denied"}), "error")["code"] == "denied"
        assert "linked content" in space.read("links.tar!/folder/b.txt").text
        assert space.call("read_file", {"path": "links.tar!/tty"}).is_error


def test_members_are_not_changed_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(hostile.zipped({"x.txt": "one\n", "big": b"b" * 3_000_000}))
    before = (tmp_path / "a.zip").read_bytes()
    with Workspace(tmp_path) as space:
        found = str(fact(space.read("a.zip!/x.txt"), "content_hash"))
        space.read("a.zip!/big", limit=1)
        edit = {"old_text": "one", "new_text": "two"}
        for tool, arguments in (
            ("write_file", {"path": "a.zip!/new.txt", "content": "x", "expected_hash": "absent"}),
            ("write_file", {"path": "a.zip!/x.txt", "content": "x", "expected_hash": found}),
            ("edit_file", {"path": "a.zip!/x.txt", "expected_hash": found, "edits": [edit]}),
        ):
            reply = space.call(tool, arguments)
            assert fact(reply, "error")["code"] == "protected", reply.text
    assert [one.name for one in tmp_path.iterdir()] == ["a.zip"]
    assert (tmp_path / "a.zip").read_bytes() == before


def test_what_has_the_name_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a.zip!").mkdir()
    (tmp_path / "a.zip!/x.txt").write_text("a file of a folder\n", encoding="utf-8")
    (tmp_path / "a.zip").write_bytes(hostile.zipped({"x.txt": "a member\n", "b!/y.txt": "deep\n"}))
    with Workspace(tmp_path) as space:
        assert "a file of a folder" in space.read("a.zip!/x.txt").text
        space.write("a.zip!/z.txt", "new\n", expected_hash="absent")
    with Workspace(MemoryStore({"a.zip": hostile.zipped({"b!/y.txt": "deep\n"}), "c.txt": b"x"})) as space:
        assert "deep" in space.read("a.zip!/b!/y.txt").text
        assert fact(space.call("read_file", {"path": "c.txt!/x"}), "error")["code"] == "not_a_folder"
        assert fact(space.call("read_file", {"path": "none.zip!/x"}), "error")["code"] == "not_found"


def test_reading_an_archive_names_the_call_that_lists_it_and_a_missing_member_its_neighbours() -> None:
    driver = Driver(MemoryStore({"a.zip": hostile.zipped({"src/app.py": "x = 1\n"})}))
    reply = driver.call("read_file", path="a.zip")
    assert "src/" in driver.follow(fact(reply, "error")["next"]).text
    missing = driver.call("read_file", path="a.zip!/src/ap.py")
    assert "x = 1" in driver.follow(fact(missing, "error")["next"]).text
    assert "src/" in driver.call("list_directory", path="a.zip!").text


@pytest.mark.parametrize("store", STORES)
def test_a_search_with_archives_shows_every_match_once(store: StoreName) -> None:
    tree = {
        f"m{number}.txt": f"needle {number}\nother\nneedle again {number}\n".encode() for number in range(6)
    }
    files = {
        "a.zip": hostile.zipped(tree),
        "b/c.tar.gz": gzip.compress(hostile.tarred(tree)),
        "plain.txt": b"needle here\n",
        "broken.zip": hostile.damaged()["cut.zip"],
        "locked.zip": hostile.encrypted(),
    }
    with stored(store, files) as held:
        driver = Driver(held)
        found = []
        replies = list(driver.pages("grep_files", pattern="needle", include=["archives"], limit=5))
        for reply in replies:
            for file in fact(reply, "files"):
                found += [(file["path"], line["line"]) for line in file["lines"] if line["match"]]
        expected = [
            (f"{name}!/{member}", line)
            for name in ("a.zip", "b/c.tar.gz")
            for member in tree
            for line in (1, 3)
        ]
        assert found == sorted([*expected, ("plain.txt", 1)])
        said = " ".join(warning["detail"] for reply in replies for warning in fact(reply, "warnings"))
        assert "broken.zip" in said
        assert "locked.zip!/secret.txt" in said
        some = driver.call(
            "grep_files", pattern="needle", include=["archives"], glob="m1.txt", output="files"
        )
        assert [file["path"] for file in fact(some, "files")] == ["a.zip!/m1.txt", "b/c.tar.gz!/m1.txt"]
        alone = driver.call("grep_files", pattern="needle 3", path="b/c.tar.gz")
        assert [file["path"] for file in fact(alone, "files")] == ["b/c.tar.gz!/m3.txt"]
        driver.workspace.close()


@pytest.mark.parametrize("store", STORES)
def test_archives_in_archives_are_searched_with_the_others(store: StoreName) -> None:
    """In path order, one behind the other, page by page; and alone by the path of the inner one."""
    tree = {f"m{number}.txt": b"needle\n" for number in range(3)}
    inner = {"b.tar.gz": gzip.compress(hostile.tarred(tree)), "b.txt": b"needle\n", ".env": b"needle\n"}
    outer = {"z/in.zip": hostile.zipped(inner), "z/in.zip.txt": b"needle\n", "broken.zip": b"PK\3\4"}
    with stored(store, {"o.zip": hostile.zipped(outer), "o.zip.txt": b"needle\n"}) as held:
        driver = Driver(held)
        replies = list(driver.pages("grep_files", pattern="needle", include=["archives"], limit=2))
        found = [file["path"] for reply in replies for file in fact(reply, "files")]
        deep = [f"o.zip!/z/in.zip!/b.tar.gz!/{name}" for name in tree]
        rest = ["o.zip!/z/in.zip!/b.txt", "o.zip!/z/in.zip.txt", "o.zip.txt"]
        assert found == [*deep, *rest]
        assert "o.zip!/broken.zip" in str([fact(reply, "warnings") for reply in replies])
        some = driver.call("grep_files", pattern="needle", include=["archives"], glob="m1.txt")
        assert [file["path"] for file in fact(some, "files")] == [deep[1]]
        for path in ("o.zip!/z/in.zip", "o.zip!/z/in.zip!"):
            alone = driver.call("grep_files", pattern="needle", path=path)
            assert [file["path"] for file in fact(alone, "files")] == rest[:1]
        assert found[:4] == [
            file["path"]
            for reply in driver.pages(
                "grep_files", pattern="needle", path="o.zip!/z/in.zip", include=["archives"]
            )
            for file in fact(reply, "files")
        ]
        driver.workspace.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-paths.zip", "3 names point outside it or cannot be used)"),
        ("many-ways.zip", "2 more cannot be read for other reasons, which reading one shows"),
    ],
)
def test_what_is_not_named_is_counted(name: str, words: str) -> None:
    with Workspace(MemoryStore({name: misleading.ARCHIVES[name]()})) as space:
        assert words in space.list(name).text


@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_large_members_are_searched_however_they_are_stored(output: str, tmp_path: Path) -> None:
    """Those that are not compressed lie in the archive as they are, where no other program finds them."""
    text = b"hay\n" * (SMALL_FILE_BYTES // 4) + b"needle\n"
    (tmp_path / "a.tar").write_bytes(hostile.tarred({"x": text, "y": b"needle\n"}))
    (tmp_path / "b.zip").write_bytes(hostile.zipped({"x": text}, zipfile.ZIP_STORED))
    (tmp_path / "c.zip").write_bytes(hostile.zipped({"x": text}))
    driver = Driver(LocalStore(tmp_path))
    reply = driver.call("grep_files", pattern="needle", include=["archives"], output=output, timeout_s=300)
    found = {file["path"]: [line["line"] for line in file["lines"]] for file in fact(reply, "files")}
    at = {"x": [text.count(b"\n")], "y": [1]} if output == "content" else {"x": [], "y": []}
    assert found == {path: at[path[-1]] for path in ("a.tar!/x", "a.tar!/y", "b.zip!/x", "c.zip!/x")}
    driver.workspace.close()


def test_an_archive_that_changes_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(hostile.zipped({"x.txt": "one\n"}))
    with Workspace(tmp_path) as space:
        assert "one" in space.read("a.zip!/x.txt").text
        path.write_bytes(hostile.zipped({"x.txt": "another\n", "y.txt": "y\n"}))
        assert "another" in space.read("a.zip!/x.txt").text
        assert "y.txt" in space.list("a.zip").text


@pytest.mark.parametrize("contract", ["everruns", "kilo", "rnd", "coder", "inspect_agents", "opencode"])
def test_other_contracts_know_no_members(contract: str, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(hostile.zipped({"x.txt": f"{CANARY}\n"}))
    with Workspace(tmp_path) as space:
        tools = space.contract(contract).tools
        for tool in tools:
            for path in ("a.zip!/x.txt", f"{tmp_path}/a.zip!/x.txt"):
                for key in ("path", "file_path", "filePath"):
                    reply = space.call(tool.name, {key: path}, contract_name=contract)
                    assert CANARY not in reply.text


def test_a_sparse_file_is_refused_with_steps_that_work() -> None:
    with Workspace(MemoryStore({"a.tar": hostile.sparse_gnu() + bytes(1024)})) as space:
        refused = space.call("read_file", {"path": "a.tar!/real.img"})
        error: Any = refused.facts["error"]
        assert error["code"] == "bad_document"
        assert "sparse" in refused.text
        assert "unpack" in refused.text
        call = error["next"]
        assert "after.txt" in space.call(call["tool"], call["arguments"]).text
        found = space.call("grep_files", {"pattern": "line", "include": ["archives"]})
        assert "after.txt" in found.text
        assert "a.tar!/real.img cannot be read" in found.text
