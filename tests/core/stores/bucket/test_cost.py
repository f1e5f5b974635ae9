"""What calls cost in a bucket: requests and bytes, as the server counts them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from readroom.core.config import in_memory
from readroom.core.config.settings import Settings
from readroom.core.errors import StoreFailed
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.rules import denials
from readroom.core.stores import spending
from readroom.core.stores.bucket import names
from readroom.core.stores.bucket.address import BucketAddress, parsed
from readroom.core.stores.bucket.folder import BucketFolder
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.stores.bucket.servers import Huge, Seen, needs_botocore
from tests.core.stores.bucket.worlds import BucketWorld, keys_of_tests

LINES = 160 * 1024 * 1024
"""Lines of the huge object, which has 10 GiB."""


@pytest.fixture
def huge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Huge]:
    server = Huge(LINES)
    keys_of_tests(monkeypatch, server.address)
    yield server
    server.close()


def facts(reply: Reply) -> Any:
    """The facts of a reply, for tests that know their form."""
    return reply.facts


def opened(store: BucketStore) -> Workspace:
    patient = Limits(list_timeout_s=600, grep_timeout_s=600, read_timeout_s=600)
    return Workspace(store, settings=in_memory(Settings(layers=(denials(),), limits=patient)))


@needs_botocore
def test_a_later_page_of_a_huge_object_is_one_ranged_request(huge: Huge) -> None:
    with opened(BucketStore(BucketAddress("tests", ""))) as workspace:
        first = workspace.read("huge.txt", offset=50_000, limit=100)
        assert f"50000\t{'0' * 58}50000" in first.text
        counted = huge.sent
        assert counted < 50_200 * Huge.WIDTH + 10 * 1024 * 1024  # no more than what leads there, and some
        for offset in (200, 17_000, 49_000, 1_000):
            huge.seen.clear()
            page = workspace.read("huge.txt", offset=offset, limit=100)
            assert f"{offset}\t{offset:063d}" in page.text
            assert f"{offset + 99}\t{offset + 99:063d}" in page.text
            ranged = [seen for seen in huge.seen if seen.range]
            assert len(huge.seen) == 1
            assert ranged or offset < 4_000  # the beginning is kept, and only asked whether it is still that
            assert all(seen.if_match == Huge.ETAG for seen in ranged)
            assert huge.sent <= 512 * 1024


@needs_botocore
def test_a_page_far_away_is_reached_in_bounded_steps_and_the_end_at_once(huge: Huge) -> None:
    with opened(BucketStore(BucketAddress("tests", ""))) as workspace:
        reply = workspace.call("read_file", {"path": "huge.txt", "offset": LINES // 2})
        assert reply.is_error
        assert facts(reply)["error"]["code"] == "transfer_limit"
        assert 256 * 1024 * 1024 <= huge.sent < 300 * 1024 * 1024
        huge.seen.clear()
        end = workspace.read("huge.txt", offset=-3)
        assert f"{LINES:063d}" in end.text
        assert huge.sent < 6 * 1024 * 1024


@needs_botocore
def test_what_was_replaced_between_two_pages_is_read_anew(huge: Huge) -> None:
    with opened(BucketStore(BucketAddress("tests", ""))) as workspace:
        workspace.read("huge.txt", offset=9_000, limit=10)
        huge.ETAG, huge.size = '"huge-2"', 10_000 * Huge.WIDTH
        page = workspace.read("huge.txt", offset=9_990)
        assert f"10000\t{10_000:063d}" in page.text
        assert "10001" not in page.text


def test_a_small_file_is_one_request(world: BucketWorld) -> None:
    world.file("a/f.txt", b"one\ntwo\n")
    with opened(world.store) as workspace:
        workspace.read("a/f.txt")
        world.proxy.seen.clear()
        assert "two" in workspace.read("a/f.txt").text
        assert [seen.method for seen in world.proxy.seen] == ["GET"]


def test_a_page_of_a_listing_costs_the_same_wherever_it_is(world: BucketWorld) -> None:
    for number in range(3_005):
        world.file(f"many/f-{number:05}.txt")
    world.file("many/f/inside")
    names: list[str] = []
    with opened(world.store) as workspace:
        cursor = None
        while True:
            world.proxy.seen.clear()
            reply = workspace.list("many", limit=500, **({"cursor": cursor} if cursor else {}))
            assert len(world.proxy.seen) <= 8
            names += [entry["path"] for entry in facts(reply)["entries"]]
            assert facts(reply)["first"] == len(names) - len(facts(reply)["entries"]) + 1
            following = facts(reply)["next"]
            if following is None:
                break
            cursor = following["arguments"]["cursor"]
    assert names == ["f", *(f"f-{number:05}.txt" for number in range(3_005))]


def test_a_search_ends_at_its_bound_says_what_it_cost_and_goes_on(
    world: BucketWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "CALL_REQUESTS", 50)
    for number in range(70):
        world.file(f"logs/{number:04}.txt", b"needle\n" if number in (3, 66) else b"hay\n")
    with opened(world.store) as workspace:
        world.proxy.seen.clear()
        reply = workspace.grep("needle", path="logs", timeout_s=60)
        assert len(world.proxy.seen) <= 55
        assert not facts(reply)["complete"]
        assert "cost (50 requests" in reply.text
        found = [file["path"] for file in facts(reply)["files"]]
        cursor = facts(reply)["next"]["arguments"]["cursor"]
        reply = workspace.grep("needle", path="logs", timeout_s=60, cursor=cursor)
        found += [file["path"] for file in facts(reply)["files"]]
        assert found == ["logs/0003.txt", "logs/0066.txt"]
        assert facts(reply)["complete"]


def test_a_ranking_ends_at_its_bound_and_goes_on(world: BucketWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "CALL_REQUESTS", 50)
    for number in range(70):
        world.file(f"notes/{number:04}.md", b"a heron lands\n" if number in (3, 66) else b"hay\n")
    with opened(world.store) as workspace:
        reply = workspace.find("heron lands", path="notes")
        assert not facts(reply)["complete"]
        assert "at most 50 and" in reply.text
        assert [file["path"] for file in facts(reply)["files"]] == ["notes/0003.md"]
        assert facts(reply)["next"] is not None


def test_an_order_that_pages_cannot_follow_is_refused_and_nothing_is_lost_silently() -> None:
    pages = [
        {"Contents": [{"Key": "\U0001f600", "Size": 1}], "IsTruncated": True, "NextContinuationToken": "2"},
        {"Contents": [{"Key": "\uffee", "Size": 1}]},
    ]
    client = SimpleNamespace(list=lambda *_, **__: pages[1], is_name=names.is_name)
    arguments: tuple[Any, ...] = (client, 1, "", WorkPath("."), pages[0], None, None, None)
    with pytest.raises(StoreFailed, match="order"):
        list(BucketFolder(*arguments).in_order())


CALLS: dict[str, Callable[[Workspace], Reply]] = {
    "by path": lambda workspace: workspace.grep("lands", path="notes"),
    "by age": lambda workspace: workspace.grep("lands", path="notes", sort="mtime"),
    "by relevance": lambda workspace: workspace.grep("lands", path="notes", sort="relevance"),
    "a ranking": lambda workspace: workspace.find("heron lands", path="notes"),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_cost_that_is_told_is_the_cost_and_each_object_is_fetched_once(
    call: str, world: BucketWorld
) -> None:
    for number in range(30):
        world.file(f"notes/{number:04}.md", b"a heron lands\n" if number % 3 else b"hay\n")
    with opened(world.store) as workspace:
        for _ in range(2):  # a conversation that has seen the files asks for no more
            world.proxy.seen.clear()
            reply = CALLS[call](workspace)
            assert len(facts(reply)["files"]) > 5, reply.text
            seen = world.proxy.seen
            assert f"({len(seen)} requests and " in reply.text
            assert len(seen) <= 40
            assert sum(".md" in one.path for one in seen) <= 30


def test_a_file_that_was_replaced_after_it_was_shown_is_news(world: BucketWorld) -> None:
    """Its version is the one that was shown, not one that came while the call went on."""
    world.file("a.md", b"a heron lands\n")
    world.file("b.md", b"a heron lands\n")
    times = [0.0]
    store = world.opened(parsed(world.address), clock=lambda: times[0])
    with opened(store) as workspace:

        def replaced(seen: Seen) -> None:
            if "b.md" in seen.path:
                while not any("a.md" in one.path and one.answered for one in world.proxy.seen):
                    threading.Event().wait(0.01)
                world.proxy.fault = None
                world.file("a.md", b"another bird\n")

        world.proxy.fault = replaced
        assert "a.md" in workspace.grep("lands").text
        assert world.proxy.fault is None
        times[0] += 60.0
        assert "a.md" in workspace.read("b.md").text
