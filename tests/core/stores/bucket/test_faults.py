"""Faults of a bucket are errors of ours with a next step, which show no key, and the other roots go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom.core.errors import BadValue, BucketDenied, NotAFile, NotFound, ObjectChanged, StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.bucket.address import BucketAddress, parsed
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.workspace import Workspace
from tests.core.stores.bucket.containers import KEY, ContainerWorld, azurite, needs_azurite, said
from tests.core.stores.bucket.servers import Seen, needs_botocore
from tests.core.stores.bucket.test_cost import facts, opened
from tests.core.stores.bucket.worlds import BucketWorld, keys_of_tests

SECRETS = ("secret-of-tests", KEY, "key-of-tests", "127.0.0.1", "Signature")


in_azure = pytest.mark.parametrize("kind", [pytest.param("az", marks=needs_azurite)], indirect=True)


def clean(text: str) -> bool:
    return not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize(
    ("fault", "error"), [(503, StoreFailed), (500, StoreFailed), (403, BucketDenied), ("reset", StoreFailed)]
)
def test_a_fault_that_stays_is_an_error(
    fault: int | str, error: type[StoreFailed], world: BucketWorld
) -> None:
    world.file("f", b"data")
    world.proxy.fault = lambda seen: fault
    world.proxy.seen.clear()
    for act in (world.store.open, world.store.open_folder, world.store.stat, world.store.version):
        with pytest.raises(error) as caught:
            act(WorkPath("f"))
        assert clean(str(caught.value))
    assert len(world.proxy.seen) <= 4 * 3 * 3  # tries are bounded


@pytest.mark.parametrize("fault", [503, 500, "reset", "cut"])
def test_a_fault_that_passes_is_not_seen(fault: int | str, world: BucketWorld) -> None:
    data = bytes(range(256)) * 4096
    world.file("f", data)
    failed: list[Seen] = []

    def once(seen: Seen) -> int | str | None:
        if seen.method == "GET" and not failed:
            failed.append(seen)
            return fault
        return None

    world.proxy.fault = once
    with world.store.open(WorkPath("f")) as source:
        assert source.read_at(0, len(data)) == data
    assert failed


def test_an_object_that_changes_in_the_middle_is_never_mixed(world: BucketWorld) -> None:
    old, new = b"a" * 3_000_000, b"b" * 3_000_000
    world.file("f", old)
    with world.store.open(WorkPath("f")) as source:
        assert source.read_at(0, 10) == old[:10]
        world.file("f", new)
        with pytest.raises(ObjectChanged):
            source.read_at(2_000_000, 10)
        assert source.current() != source.version


def test_a_read_of_what_changes_in_the_middle_shows_one_state(world: BucketWorld) -> None:
    def text(word: str) -> bytes:
        return b"".join(b"%d %s\n" % (number, word.encode()) for number in range(300_000))

    world.file("f.txt", text("old"))
    changed: list[Seen] = []

    def change(seen: Seen) -> None:
        if seen.if_match and not changed:
            changed.append(seen)
            world.file("f.txt", text("new"))

    with opened(world.store) as workspace:
        world.proxy.fault = change
        reply = workspace.read("f.txt", offset=100_000, limit=50)
        assert changed
        assert "100000\t99999 new" in reply.text
        assert "old" not in reply.text


def test_the_other_roots_go_on(world: BucketWorld, tmp_path: Path) -> None:
    world.file("f.txt", b"in the bucket\n")
    (tmp_path / "here.txt").write_text("here\n", encoding="utf-8")
    with Workspace(str(tmp_path), f"B={world.address}:ro") as workspace:
        assert "in the bucket" in workspace.read("B/f.txt").text
        found = workspace.grep("here|bucket").text
        assert "here.txt" in found
        assert "B/f.txt" in found
        world.proxy.fault = lambda seen: "reset"
        lost = workspace.call("read_file", {"path": "B/f.txt"})
        assert lost.is_error
        assert facts(lost)["error"]["code"] == "store_failed"
        assert "B/f.txt" in lost.text
        assert clean(lost.text + str(facts(lost)))
        assert "here" in workspace.read("here.txt").text
        refused = workspace.call("write_file", {"path": "B/new", "content": "x", "expected_hash": "absent"})
        assert refused.is_error


def test_a_missing_bucket_and_a_prefix_of_nothing(world: BucketWorld) -> None:
    lost = world.opened(replace(parsed(world.address), bucket="no-such-bucket"))
    with pytest.raises(StoreFailed, match=r"no such (bucket|container)"):
        lost.open_folder(WorkPath("."))
    empty = world.opened(replace(parsed(world.address), prefix="not/here/"))
    with empty.open_folder(WorkPath(".")) as folder:
        assert list(folder.entries()) == []
    for store in (lost, empty):
        store.close()


@needs_botocore
def test_a_server_that_is_not_there_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    keys_of_tests(monkeypatch, "http://127.0.0.1:1")
    store, began = BucketStore(BucketAddress("tests", "")), time.monotonic()
    with pytest.raises(StoreFailed, match="cannot be reached") as caught:
        store.open(WorkPath("f"))
    assert time.monotonic() - began < 120
    assert clean(str(caught.value))
    store.close()


@needs_botocore
def test_without_keys_it_says_how_to_give_them(monkeypatch: pytest.MonkeyPatch) -> None:
    keys_of_tests(monkeypatch, "http://127.0.0.1:1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    store = BucketStore(BucketAddress("tests", ""))
    with pytest.raises(StoreFailed, match="AWS_ACCESS_KEY_ID"):
        store.open(WorkPath("f"))
    store.close()


ODD_KEYS = {".": ["/lead", "..", ".", "nul\0in"], "a": ["a//b", "a/../b", "a/./b"]}
ODD_BLOBS = {".": ["/lead", "dot."], "a": ["a//b", "a/dot./b"]}
"""By folder. Libraries of Azure have no way to "..", and none puts a backslash."""


def test_keys_that_are_no_paths_are_counted_and_never_mixed_up(world: BucketWorld) -> None:
    odd = ODD_KEYS if world.address.startswith("s3") else ODD_BLOBS
    top_unnamed, inside_unnamed = odd.values()
    for key in (*top_unnamed, *inside_unnamed, "a/", "tail//"):
        world.file(key, f"odd {key!r}".encode())
    world.file("a/b", b"plain")
    world.file("b", b"other")
    world.file("both", b"a file")
    world.file("both/inside", b"inside")
    with opened(world.store) as workspace:
        top = workspace.list(".")
        assert [entry["path"] for entry in facts(top)["entries"]] == ["a", "b", "both", "tail"]
        assert f"unnamed ({len(top_unnamed) + 1} keys" in top.text  # and the file beside its folder
        inside = workspace.list("a")
        assert [entry["path"] for entry in facts(inside)["entries"]] == ["b"]
        assert f"unnamed ({len(inside_unnamed) + 1} keys" in inside.text  # and what is a folder elsewhere
        assert "a file" in workspace.read("both").text
        assert "inside" in workspace.read("both/inside").text
        for path in ("a/b", "a//b", "./a/b", "a/c/../b"):
            assert "plain" in workspace.read(path).text
        assert "odd" not in workspace.grep("odd").text.replace('"odd"', "")
        for path in ("/lead", "lead", "tail"):
            assert workspace.call("read_file", {"path": path}).is_error
        with pytest.raises(NotAFile):
            world.store.open(WorkPath("a"))
        with pytest.raises(NotFound):
            world.store.open(WorkPath("name-\udcff"))


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:///x",
        "s3://B",
        "s3://key:secret-of-tests@bucket/x",
        "s3://bucket/a//b",
        "s3://bucket/../x",
        "s3://bucket/a/./b",
        "s3://bucket/\x1b",
        "s3://-x/",
        "s3://name--x-s3/",
        "gs://bucket/x",
        "az://",
        "az://B",
        "az://a--b",
        "az://account:secret-of-tests@container/x",
        "az://container/a//b",
        "az://container/a\\b",
        "az://container/a./b",
        "abfss://container/x",
    ],
)
def test_what_is_no_address_is_refused_and_shows_no_secret(text: str) -> None:
    with pytest.raises(BadValue) as caught:
        parsed(text)
    assert clean(str(caught.value))
    assert "s3://bucket/prefix" in str(caught.value) or caught.value.advice


def test_addresses_are_read_as_they_are_written() -> None:
    for text in (
        "s3://bucket",
        "s3://bucket/a",
        "s3://bucket/a b/c=d",
        "s3://bucket/a%2Fb",
        "az://$web",
        "az://one/a",
    ):
        assert str(parsed(text)) == text
        assert str(parsed(f"{text}/")) == text


@needs_azurite
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "no account"),
        ({"AZURE_STORAGE_ACCOUNT": "some"}, "no keys"),
        ({"AZURE_STORAGE_ACCOUNT": "some/where.else", "AZURE_STORAGE_KEY": "c2VjcmV0"}, "no account"),
        ({"AZURE_STORAGE_ACCOUNT": "some", "AZURE_STORAGE_KEY": "secret-of-tests"}, "cannot be used"),
        ({"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=secret-of-tests"}, "cannot be used"),
    ],
)
def test_without_keys_of_azure_it_says_how_to_give_them(variables: dict[str, str], words: str) -> None:
    with pytest.raises(StoreFailed, match=words) as caught:
        BucketStore(parsed("az://tests"), variables=variables)
    assert "AZURE_STORAGE_ACCOUNT" in str(caught.value)
    assert clean(str(caught.value))


@needs_azurite
def test_a_wrong_key_of_azure_is_told_with_the_roles() -> None:
    wrong = said(f"http://127.0.0.1:{azurite().port}").replace(KEY, "d3Jvbmc=")
    store = BucketStore(parsed("az://tests"), variables={"AZURE_STORAGE_CONNECTION_STRING": wrong})
    with pytest.raises(BucketDenied, match="Storage Blob Data Reader") as caught:
        store.open(WorkPath("f"))
    assert clean(str(caught.value))
    assert "d3Jvbmc=" not in str(caught.value)
    store.close()


@in_azure
def test_a_lease_of_another_program_is_respected(world: ContainerWorld) -> None:
    world.file("f", b"one\n")
    lease = world.outside.get_blob_client("f").acquire_lease()
    with opened(world.store) as workspace:
        known = facts(workspace.read("f"))["content_hash"]
        edit = {"path": "f", "expected_hash": known, "edits": [{"old_text": "one", "new_text": "two"}]}
        refused = workspace.call("edit_file", edit)
        assert refused.is_error
        assert "lease" in refused.text
        lease.release()
        assert not workspace.call("edit_file", edit).is_error
    assert world.read("f") == b"two\n"


@in_azure
def test_a_backslash_is_no_way_around_a_rule(world: ContainerWorld) -> None:
    world.file("private/keys.txt", b"hidden words\n")
    world.file("open.txt", b"words\n")
    world.file("readroom.toml", b'[policy]\ndeny = ["private/**"]\n')
    with Workspace(world.address) as workspace:
        for path in ("private/keys.txt", "private\\keys.txt", "private./keys.txt", "private/keys.txt."):
            reply = workspace.call("read_file", {"path": path})
            assert reply.is_error
            assert "hidden" not in reply.text
        write = {"path": "private\\new.txt", "content": "x\n", "expected_hash": "absent"}
        assert workspace.call("write_file", write).is_error
    assert sorted(world.keys()) == ["open.txt", "private/keys.txt", "readroom.toml"]
