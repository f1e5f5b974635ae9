"""Searches ask for several objects at once, and answer as if they had asked for one after the other."""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.stores import spending
from readroom.core.stores.bucket import ahead
from readroom.core.stores.bucket.address import parsed
from readroom.core.stores.bucket.client import AT_ONCE
from readroom.core.values import Reply
from tests.core.stores.bucket.servers import Seen
from tests.core.stores.bucket.test_cost import CALLS, facts, opened
from tests.core.stores.bucket.worlds import BucketWorld

WAITS_S = 60.0
"""For what surely comes; a test that waits so long fails."""


class Gate:
    """Holds requests for objects at the server, and counts those that are there at once."""

    def __init__(self, world: BucketWorld) -> None:
        self.world = world
        self.held: list[str] = []
        self.most = 0
        self._changed = threading.Condition()
        self._open = False

    def hold(self, seen: Seen, least: int) -> None:
        """Keep a request until so many are there."""
        with self._changed:
            self.held.append(seen.path)
            self.most = max(self.most, len(self.held))
            self._open = self._open or len(self.held) >= least
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open, WAITS_S)
            self.held.remove(seen.path)

    def wait(self, least: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.held) >= least, WAITS_S)

    def open(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("readroom-bucket")]


def objects(world: BucketWorld) -> list[Seen]:
    """The requests for bytes of files that are searched."""
    return [seen for seen in world.proxy.seen if seen.method == "GET" and "/f-" in seen.path]


@pytest.mark.parametrize("call", CALLS)
def test_as_many_objects_as_the_bound_allows_are_asked_for_at_once(call: str, world: BucketWorld) -> None:
    for number in range(40):
        world.file(f"notes/f-{number:04}.md", b"a heron lands\n")
    gate = Gate(world)

    def held(seen: Seen) -> None:
        # The last ones, when as many are asked for as ever; one after the other would never be eight.
        if len(objects(world)) > 28 and "/f-" in seen.path:
            gate.hold(seen, AT_ONCE)

    world.proxy.fault = held
    with opened(world.store) as workspace:
        assert len(facts(CALLS[call](workspace))["files"]) > 5
    assert gate.most == AT_ONCE
    assert len(objects(world)) == 40
    assert not threads()


def tree(world: BucketWorld, chance: random.Random) -> None:
    """Files of all sizes and kinds in a few folders."""
    for _ in range(chance.randint(12, 30)):
        folder = chance.choice(("", "a/", "a/b/", "a-b/", "c/"))
        name = f"{folder}f-{chance.randrange(1000):03}{chance.choice(('.md', '.txt', '.bin', '.py'))}"
        lines = chance.choice((0, 1, 3, 10, 40, 80_000))
        words = ("a heron lands", "needle") if lines < 100 else ("hay",)
        text = "needle\n" + "".join(f"{chance.choice(words)} {number}\n" for number in range(lines))
        text = text if lines else ""
        world.file(name, b"\0\1\2" + text.encode() if name.endswith(".bin") else text.encode())
    world.file(".readroomignore", b"f-1*\n")
    world.file(".gitignore", b"f-2*\n")


def faults(chance: random.Random) -> Callable[[Seen], int | str | None]:
    """Faults of some objects, for good or once, which are the same for the same request."""
    kinds = {number: chance.choice((403, 404, "once", "cut")) for number in range(10)}
    bad = set(chance.sample(range(10), 3))
    failed: set[str] = set()

    def fault(seen: Seen) -> int | str | None:
        if "/f-" not in seen.path or (digit := int(seen.path.partition("/f-")[2][2])) not in bad:
            return None
        kind = kinds[digit]
        if kind not in ("once", "cut"):
            return kind
        if seen.path in failed:
            return None
        failed.add(seen.path)
        return 503 if kind == "once" else "cut"

    return fault


def cost_of(reply: Reply) -> tuple[int, int]:
    """The requests and bytes that a reply tells."""
    told = re.search(r"cost \(([\d,]+) requests and ([\d,]+) bytes", reply.text)
    assert told is not None, reply.text
    return int(told[1].replace(",", "")), int(told[2].replace(",", ""))


def pages(world: BucketWorld, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """The files and warnings of all pages, each asked for by a conversation of its own."""
    found: list[Any] = []
    while True:
        with opened(world.opened(parsed(world.address))) as workspace:
            workspace.list(".")  # asks for the rules
            world.proxy.seen.clear()
            reply = workspace.call(tool, arguments)
        if not reply.is_error:
            assert cost_of(reply)[0] == len(world.proxy.seen) <= spending.CALL_REQUESTS
        warnings = [one for one in facts(reply).get("warnings", ()) if one["code"] != "cost"]
        found.append((facts(reply).get("files"), facts(reply).get("error"), warnings))
        following = facts(reply).get("next")
        if following is None:
            return found
        tool, arguments = following["tool"], following["arguments"]


SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("grep_files", {"pattern": "needle", "limit": 40}),
    ("grep_files", {"pattern": "heron", "sort": "mtime", "output": "files"}),
    ("grep_files", {"pattern": "heron lands", "sort": "relevance", "limit": 30}),
    ("grep_files", {"pattern": "hay", "glob": ["*.py", "a/**"], "output": "files"}),
    ("find_relevant", {"query": "a heron lands", "output": "files"}),
]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.whole)])
def test_a_search_is_the_same_as_one_after_the_other(
    seed: int, world: BucketWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(world, random.Random(seed))
    for tool, arguments in SEARCHES:
        both: list[tuple[list[Any], Counter[tuple[str, str]]]] = []
        for most in (0, ahead.MOST):
            monkeypatch.setattr(ahead, "MOST", most)
            world.proxy.fault = faults(random.Random(f"{seed} {tool}"))
            found = pages(world, tool, arguments)
            both.append((found, Counter((seen.path, seen.range) for seen in objects(world))))
        (found, asked), (early, asked_early) = both
        assert early == found, arguments
        if len(found) == 1:  # else more may be asked for ahead than the page has room for
            assert asked_early == asked, arguments
        assert not threads()


def test_what_is_asked_for_in_vain_is_little_and_counted(world: BucketWorld) -> None:
    for number in range(60):
        world.file(f"f-{number:04}.md", b"a heron lands\n")
    with opened(world.store) as workspace:
        for limit in (1, 5, 30):
            world.proxy.seen.clear()
            reply = workspace.grep("lands", limit=limit, include=["ignored"])
            assert len(facts(reply)["files"]) == limit
            looked_at = limit + 1  # the last one says that there is more
            assert limit <= len(objects(world)) <= looked_at + min(looked_at + 2, ahead.MOST)


@pytest.mark.parametrize("sort", ["path", "mtime", "relevance"])
def test_no_call_asks_for_more_than_its_bounds(
    sort: str, world: BucketWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "CALL_REQUESTS", 25)
    monkeypatch.setattr(spending, "CALL_BYTES", 2_000_000)
    names = [f"f-{number:04}.md" for number in range(40)]
    for number, name in enumerate(names):
        world.file(name, b"needle\n" + b"hay\n" * (30_000 if number % 3 else 90_000))
    cursor: dict[str, Any] = {}
    found: list[str] = []
    with opened(world.store) as workspace:
        for _ in range(40):
            world.proxy.seen.clear()
            reply = workspace.call(
                "grep_files", {"pattern": "needle", "sort": sort, "output": "files", **cursor}
            )
            sent = sum(seen.answered for seen in objects(world))
            asked = [seen for seen in world.proxy.seen if seen.method == "GET"]
            assert cost_of(reply)[1] == sent <= 2_000_000
            assert cost_of(reply)[0] <= 25
            assert len(asked) <= 25
            found += [file["path"] for file in facts(reply)["files"]]
            following = facts(reply)["next"]
            if following is None:
                break
            cursor = {"cursor": following["arguments"]["cursor"]}
            sort = following["arguments"].get("sort", "path")
    assert sorted(found) == names


def test_a_cancelled_search_ends_all_that_is_under_way_and_tries_nothing_again(world: BucketWorld) -> None:
    for number in range(40):
        world.file(f"f-{number:04}.md", b"a heron lands\n")
    gate, deadline = Gate(world), Deadline()

    def held(seen: Seen) -> int | None:
        if "/f-002" not in seen.path:
            return None
        gate.hold(seen, 40)
        return 503

    world.proxy.fault = held
    ended: list[Reply | BaseException] = []

    def search() -> None:
        try:
            ended.append(workspace.call("grep_files", {"pattern": "lands"}, deadline=deadline))
        except Cancelled as error:
            ended.append(error)

    with opened(world.store) as workspace:
        searching = threading.Thread(target=search)
        searching.start()
        gate.wait(AT_ONCE)
        deadline.cancel()
        asked = len(objects(world))
        gate.open()
        searching.join(WAITS_S)
        assert not searching.is_alive()
        assert not threads()
        assert len(ended) == 1
        assert len(objects(world)) == asked


def test_a_search_whose_time_is_over_leaves_nothing_behind(world: BucketWorld) -> None:
    for number in range(40):
        world.file(f"f-{number:04}.md", b"a heron lands\n")
    gate, now = Gate(world), [0.0]
    deadline = Deadline(1000, clock=lambda: now[0])

    def held(seen: Seen) -> None:
        if "/f-002" in seen.path:
            gate.hold(seen, AT_ONCE)
            now[0] = 2000.0

    world.proxy.fault = held
    with opened(world.store) as workspace:
        reply = workspace.call("grep_files", {"pattern": "lands"}, deadline=deadline)
        assert facts(reply)["reason"] == "timeout", reply.text
        assert cost_of(reply)[1] == sum(seen.answered for seen in objects(world))
        assert not threads()
        world.proxy.fault = None
        following = facts(reply)["next"]
        rest = workspace.call(following["tool"], following["arguments"])
    found = [file["path"] for one in (reply, rest) for file in facts(one)["files"]]
    assert found == [f"f-{number:04}.md" for number in range(40)]


def test_an_object_that_is_replaced_meanwhile_is_never_mixed(world: BucketWorld) -> None:
    for number in range(6):
        world.file(f"f-{number}.md", b"old\n" * 100_000)
    replaced: set[str] = set()

    def replace(seen: Seen) -> None:
        if seen.if_match and seen.path not in replaced:
            replaced.add(seen.path)
            if "f-3" in seen.path:
                world.file("f-3.md", b"new\n" * 100_000)

    world.proxy.fault = replace
    with opened(world.store) as workspace:
        reply = workspace.grep("old|new", output="count")
    assert len(replaced) == 6
    counts = {file["path"]: file for file in facts(reply)["files"]}
    assert set(counts) == {f"f-{number}.md" for number in range(6) if number != 3}
    assert "f-3.md" in reply.text  # named as what could not be read
    assert all(seen.if_match or seen.range == "bytes=0-262143" for seen in objects(world))
