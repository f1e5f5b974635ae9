"""The Everruns contract: several files in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.contracts.everruns.requests import BATCH_BYTES
from readroom.core.contracts import contract
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.contracts.everruns.test_replies import call, failure, numbered, said
from tests.each import each

Json = Any

MANY = "read_many_files"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
    "53de0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)
LIMIT = "because the batch output limit was reached; read this file individually"


def results(files: Mapping[str, bytes | str], *paths: str, **more: Json) -> list[Json]:
    found = said(files, MANY, paths=list(paths), **more)
    assert list(found) == ["results", "count"]
    assert found["count"] == len(paths) == len(found["results"])
    of_files: list[Json] = found["results"]
    return of_files


@pytest.mark.clause("everruns.today.read-many")
@each(
    "more",
    [{}, {"offset": 2}, {"limit": 3}, {"offset": 590, "limit": 3}, {"offset": 10**6}],
)
def test_each_file_is_what_it_is_alone_and_in_order(more: Json) -> None:
    files: dict[str, bytes | str] = {
        "b.txt": numbered(1, 9), "a.log": numbered(1, 600), "t.csv": "a,b\n" + "1,2\n" * 300,
        "bytes.bin": b"\0\1\2", "m.py": "def f():\n    pass\n" * 40, "empty": "",
    }  # fmt: skip
    found = results(files, *files, **more)
    assert found == [said(files, "read_file", path=path, **more) for path in files]


@pytest.mark.clause("everruns.today.read-many")
def test_a_file_that_cannot_be_read_says_so_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "a.txt").write_text("x\n")
    (tmp_path / ".env").write_text("KEY=1\n")
    paths = ["missing.txt", "a.txt", "d", ".env", "../up", "/workspace/a.txt", "a\0b", '"a\\q"', "  a.txt "]
    with Workspace(tmp_path) as workspace:
        reply = workspace.call(MANY, {"paths": paths}, contract_name="everruns")
        alone = [workspace.call("read_file", {"path": path}, contract_name="everruns") for path in paths]
    assert not reply.is_error
    found = json.loads(reply.text)["results"]
    for one, other in zip(found, alone, strict=True):
        if other.is_error:
            assert set(one) == {"path", "error"}
            assert one["error"] == other.text
        else:
            assert one == json.loads(other.text)
    assert found[0] == {
        "path": "/workspace/missing.txt", "error": "File not found: /workspace/missing.txt",
    }  # fmt: skip
    assert "KEY" not in reply.text


@pytest.mark.clause("everruns.today.read-many")
def test_an_image_is_named_and_not_shown() -> None:
    reply = call({"a.png": PNG, "logo": PNG, "b": "x"}, MANY, paths=["a.png", "logo", "b"])
    assert reply.images == ()
    for one in json.loads(reply.text)["results"][:2]:
        assert one["media_type"] == "image/png"
        assert one["image_omitted"] is True
        assert one["hint"] == "Read this image individually with `read_file` to view it"
        assert one["content_hash"].startswith("sha256:")
        assert "content" not in one


@pytest.mark.clause("everruns.today.read-many")
@each(
    ("arguments", "words"),
    [
        ({}, "Missing required parameter: paths"),
        ({"paths": None}, "Missing required parameter: paths"),
        ({"paths": {"a": 1}}, "Missing required parameter: paths"),
        ({"paths": []}, "Parameter `paths` must contain between 2 and 10 paths"),
        ({"paths": ["a"]}, "Parameter `paths` must contain between 2 and 10 paths"),
        ({"paths": ["a"] * 11}, "Parameter `paths` must contain between 2 and 10 paths"),
        ({"paths": ["a", 7]}, "Parameter `paths[1]` must be a string"),
        ({"paths": [None, "a"]}, "Parameter `paths[0]` must be a string"),
        ({"paths": ["a", ""]}, "Parameter `paths[1]` must contain between 1 and 4096 bytes"),
        ({"paths": ["é" * 2049, "a"]}, "Parameter `paths[0]` must contain between 1 and 4096 bytes"),
        ({"paths": ["a", "b"], "limit": 0}, "limit must be a positive integer"),
        ({"paths": ["a", "b"], "offset": -1}, "offset must be a non-negative integer"),
    ],
)
def test_lists_that_it_does_not_take_are_refused_in_its_words(arguments: Json, words: str) -> None:
    assert failure({"a": "x"}, MANY, **arguments) == words


@pytest.mark.clause("everruns.today.read-many")
def test_the_schema_bounds_the_list() -> None:
    paths = contract("everruns").tool(MANY).input_schema["properties"]["paths"]
    assert (paths["type"], paths["minItems"], paths["maxItems"]) == ("array", 2, 10)
    assert paths["items"] == {"type": "string", "maxLength": 4096}


@pytest.mark.clause("everruns.today.read-many", "everruns.deviation.read-many")
def test_what_has_no_room_is_named_by_its_place() -> None:
    files = dict.fromkeys("abcd", "x" * 61440)
    reply = call(files, MANY, paths=list("abcd"))
    found = json.loads(reply.text)["results"]
    assert len(reply.text.encode()) <= BATCH_BYTES
    assert found[0]["truncated"]
    assert found[0]["truncation"]["next_column"] == len(found[0]["content"]) - len("1|")
    assert found[1:] == [
        {"index": 1, "error": f"Not returned {LIMIT}"},
        {"index": 2, "error": f"Not read {LIMIT}"},
        {"index": 3, "error": f"Not read {LIMIT}"},
    ]
    assert reply.facts["truncated"] is True


@pytest.mark.clause("everruns.today.read-many")
def test_the_longest_failures_stay_within_the_limit() -> None:
    reply = call({}, MANY, paths=["\x01" * 4096] * 10)
    assert not reply.is_error
    assert len(reply.text.encode()) <= BATCH_BYTES
    assert len(json.loads(reply.text)["results"]) == 10


pieces = st.one_of(
    st.text(max_size=40), st.integers(0, 4000).map(lambda count: '"\\\n' * count),
    st.integers(0, 70_000).map(lambda count: "é" * count), st.binary(max_size=200),
    st.just(PNG),
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(pieces, min_size=2, max_size=10), st.sampled_from([None, 2048, 9000]))
def test_whatever_the_files_are_there_is_one_entry_for_each_and_all_stay_small(
    contents: list[bytes | str], size: int | None
) -> None:
    files = {f"f{number}": content for number, content in enumerate(contents)}
    with Workspace(MemoryStore(files)) as workspace:
        arguments = {"paths": [*files]}
        reply = workspace.call(MANY, arguments, contract_name="everruns", reply_bytes=size)
    assert len(reply.text.encode()) <= (size or BATCH_BYTES)
    found = json.loads(reply.text)["results"]
    assert len(found) == len(files)
    left_out = [number for number, one in enumerate(found) if "index" in one]
    assert left_out == [one["index"] for one in found if "index" in one]
    assert left_out == list(range(len(files) - len(left_out), len(files)))
    assert [one["path"] for one in found if "index" not in one] == [
        f"/workspace/f{number}" for number in range(len(files) - len(left_out))
    ]


@pytest.mark.clause("everruns.today.read-many")
def test_only_what_is_returned_counts_as_shown() -> None:
    files = dict.fromkeys("abc", "x" * 50_000)
    digest = said(files, "read_file", path="a")["content_hash"]
    with Workspace(MemoryStore(files)) as workspace:
        workspace.call(MANY, {"paths": ["a", "b", "c"]}, contract_name="everruns")
        assert [workspace.session().has_in_view(name, digest) for name in "abc"] == [True, False, False]
