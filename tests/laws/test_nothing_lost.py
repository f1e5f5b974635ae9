"""Law 1 of searches and listings: wherever time ends and pages are cut, nothing is shown twice or lost.

What following `next` does not show is named, with the call that shows it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from readroom.core.contracts.native import MEASURE
from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import path_key, sort_of
from readroom.core.engine.find import perform as find
from readroom.core.engine.grep import GREP_RANK_SHARE
from readroom.core.engine.grep import perform as grep
from readroom.core.engine.grep.file import GREP_FILE_SHARE
from readroom.core.engine.grep.left import BEGINS_AGAIN, TEXTS_UNKNOWN
from readroom.core.engine.list import perform as list_page
from readroom.core.errors import TimedOut
from readroom.core.limits import GREP_MAX_TIMEOUT_S
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.values import (
    Cap,
    FindRequest,
    GrepRequest,
    GrepResult,
    Include,
    ListEntry,
    ListRequest,
    ReadRequest,
)
from readroom.core.values.find import FindInclude
from readroom.documents.reading.cache import DocumentCache
from tests.core.engine.serving import job, serving
from tests.core.formats.packing import PACK
from tests.laws.places import BUCKETS
from tests.laws.trees import (
    ARCHIVES,
    DOCUMENTS,
    HERE,
    LINKS,
    ON_DISK,
    PLAIN,
    Clock,
    Made,
    held,
    placeable,
    tree,
    with_members,
)
from tests.suites import daily, whole

MOST_PAGES = 2000

LOOKS = [*range(1, 16), 20, 25, 30, 40, 50, 60, 80, 100, 150, 200]
"""How often a clock is looked at before time is up."""

CAPS = [1500, 2500, 6000, 100_000]

ROOMY = Cap(10**8, MEASURE)


def marks(store: str, *, late: bool) -> list[pytest.MarkDecorator]:
    """Of a case that is left to the whole suite, or needs a server."""
    return [*([whole] if late else []), *([BUCKETS[store]] if store in BUCKETS else [])]


def seen(path: str, include: frozenset[str]) -> bool:
    """Whether a search looks at a name."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return ("hidden" in include or not hidden) and ("ignored" in include or not path.endswith(".log"))


# --- grep_files --------------------------------------------------------------------------------

Place: TypeAlias = "tuple[str, int | None, int]"
"""A match by its file, the part of a document, and its line; a file by how many it has."""

TAKEN: Mapping[tuple[str, ...], Callable[[str], bool]] = {
    (): lambda path: True,
    ("*.txt",): lambda path: path.endswith(".txt"),
    ("d/**",): lambda path: path.startswith("d/"),
    ("!d/**",): lambda path: not path.startswith("d/"),
}


def asked(rng: random.Random, kind: str) -> GrepRequest:
    """Any search for the needle."""
    chosen = rng.choice
    include = {kind for kind in ("hidden", "ignored", "compressed", "binary") if rng.random() < 0.3}
    # Without the latter, a compressed file is searched as the bytes that it is.
    include |= {"compressed"} if "binary" in include else set()
    request = GrepRequest(
        "needle",
        glob=chosen([(), (), *TAKEN]),
        type=chosen([None, None, None, "py"]),
        output=chosen(["content", "content", "files", "count"]),
        before=chosen([0, 0, 1, 3]),
        after=chosen([0, 0, 2]),
        ignore_case=chosen([False, True]),
        multiline=chosen([False, False, True]),
        fixed=chosen([False, True]),
        include=frozenset(include),  # type: ignore[arg-type]  # they are literals
        sort=chosen(["path", "path", "path", "mtime", "relevance", None]),
        limit=chosen([1, 3, 7, None]),
        timeout_s=float(chosen([2, 5, 12, 30])),
        symbols=chosen([False, False, True]),
    )
    if kind == "archives":
        return replace(request, include=request.include | {"archives"}, sort="path")
    if kind == "documents":
        return replace(request, documents=True, sort="path", type=None, glob=())
    return request


def matches(files: Mapping[str, Made], request: GrepRequest) -> Iterator[Place]:
    """What a search has to show, from what was written."""
    include = {"", *request.include, *(["documents"] if request.documents else [])}
    for path, made in with_members(files):
        typed = request.type is None or path.endswith(".py")
        if made.needs not in include or not typed or not TAKEN[request.glob](path):
            continue
        places = [
            (path, part, number)
            for part, lines in made.lines.items()
            for number, line in enumerate(lines, 1)
            if request.pattern in (line.lower() if request.ignore_case else line)
        ]
        if places and seen(path, request.include):
            count = len(places) if request.output == "count" else 1
            yield from places if request.output == "content" else [(path, None, count)]


def shown(result: GrepResult) -> list[Place]:
    if result.request.output != "content":
        return [(file.path, None, file.matches) for file in result.files]
    every = ((file.path, line) for file in result.files for line in file.lines)
    return [(path, line.part, line.number) for path, line in every if line.is_match]


class Search:
    """Follows one search. `without_nul` says that it told to leave out texts with a NUL."""

    def __init__(self, store: Store, documents: DocumentCache, rng: random.Random) -> None:
        self._services = replace(serving(Guard(store)), documents=lambda: documents)
        self._rng = rng
        self._cap = Cap(rng.choice(CAPS), MEASURE)
        self.without_nul = False

    def page(self, request: GrepRequest, clock: Clock, cap: Cap | None = None) -> GrepResult:
        return grep(self._services, job(request, cap or self._cap, Deadline(clock=clock)))

    def _clock(self, seconds: float) -> Clock:
        """Time ends for all of the search, for the share of one file, or for that of an order."""
        shares = (1 / GREP_FILE_SHARE, GREP_RANK_SHARE)
        return Clock(self._rng.choice(LOOKS), self._rng.choice([1e9, *(seconds * (n + 0.1) for n in shares)]))

    def follow(self, request: GrepRequest, *, timed: bool) -> tuple[list[Place], list[Place]]:
        """What following `next` shows, and what the searches show that are named beside it."""
        found: list[Place] = []
        beside: list[Place] = []
        for _ in range(MOST_PAGES):
            seconds = request.timeout_s or 0
            # Where no more time is offered, there is enough.
            hurried = timed and seconds < GREP_MAX_TIMEOUT_S
            result = self.page(request, self._clock(seconds) if hurried else Clock())
            found += shown(result)
            self.without_nul |= TEXTS_UNKNOWN in result.warnings
            assert result.shown == len(shown(result))
            assert result.complete is (result.reason is None)
            assert result.next is None or not result.complete
            for item in result.omitted:
                if item.reason == "timeout" and isinstance(item.request, GrepRequest):
                    some, more = self.follow(item.request, timed=False)
                    beside += some + more
            if result.next is None:
                assert result.complete or result.reason == "unfinished"
                return found, beside
            if BEGINS_AGAIN in result.warnings:
                found, beside = [], []
            request = result.next
        raise AssertionError("following `next` does not end")


@pytest.mark.parametrize(
    ("store", "kind", "seed"),
    [
        pytest.param(store, kind, seed, marks=marks(store, late=seed >= first))
        for store, kind, first, seeds in (
            *(("disk", "plain", 2, 12), ("memory", "plain", 2, 12)),
            *(("disk", "archives", 1, 6), ("memory", "archives", 2, 16)),
            *(("disk", "documents", 1, 4), ("memory", "documents", 1, 4)),
            *(("shell", "plain", 0, 2), ("bucket", "plain", 0, 3), ("bucket", "archives", 0, 1)),
            *(("container", "plain", 0, 2), ("container", "archives", 0, 1)),
        )
        for seed in range(seeds)
    ],
)
def test_a_search_shows_every_match_once_wherever_time_ends(store: str, kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    sorts = {"archives": ARCHIVES, "documents": DOCUMENTS}.get(kind, PLAIN)
    files = placeable(store, tree(rng, sorts, rng.choice([6, 12, 24] if store in HERE else [6])))
    documents = DocumentCache()
    try:
        with held(store, files, rng) as place:
            for _ in range(2):
                request = asked(rng, kind)
                search = Search(place, documents, rng)
                wanted = [*matches(files, request)]
                at_once = shown(search.page(replace(request, limit=10**6), Clock(), ROOMY))
                assert sorted(at_once) == sorted(wanted), request
                assert search.follow(request, timed=False) == (at_once, []), request
                found, beside = search.follow(request, timed=True)
                if search.without_nul:
                    texts = {path for path, made in files.items() if made.sort == "nul"}
                    found, at_once, wanted = (
                        [place for place in some if place[0] not in texts]
                        for some in (found, at_once, wanted)
                    )
                assert sorted(found + beside) == sorted(wanted), request
                if not beside and sort_of(request) == "path":
                    assert found == at_once, request
    finally:
        documents.close()


# --- list_directory ----------------------------------------------------------------------------


def entries(files: Mapping[str, Made], links: Mapping[str, str], request: ListRequest) -> Iterator[str]:
    """What a listing has to show."""
    paths = {".gitignore", *links, *files}
    paths |= {path[:at] for path in files for at, char in enumerate(path) if char == "/"}
    for path in paths:
        ignored = path.endswith(".log") and "ignored" not in request.include
        if path.count("/") < request.depth and not ignored and TAKEN[request.glob](path):
            yield path


def listing(store: Store, request: ListRequest, cap: Cap, rng: random.Random | None) -> list[ListEntry]:
    """What following `next` shows."""
    found: list[ListEntry] = []
    following: ListRequest | None = request
    while following is not None:
        clock = Clock(None if rng is None else rng.choice(LOOKS))
        try:
            result = list_page(serving(Guard(store)), job(following, cap, Deadline(1.0, clock=clock)))
        except TimedOut:
            rng = None if rng is None or rng.random() < 0.2 else rng  # as told, with more time
            continue
        found += result.entries
        assert result.entries or result.reason is None
        cut = [item for item in result.omitted if item.reason != "depth"]
        assert (result.reason is None) is (result.next is None and not cut)
        (other,) = [item.request for item in cut] or [None]
        if result.next is None and isinstance(other, ListRequest):  # begins again, by name
            assert not result.total_known
            found, following = [], other
        else:
            assert other == result.next
            following = result.next
    return found


@pytest.mark.parametrize(
    ("store", "seed"),
    [
        pytest.param(store, seed, marks=marks(store, late=seed >= first))
        for store, first, seeds in (
            *(("disk", 3, 20), ("memory", 3, 20), ("shell", 1, 3), ("bucket", 1, 4), ("container", 1, 2)),
        )
        for seed in range(seeds)
    ],
)
def test_a_listing_shows_every_entry_once_wherever_time_ends(store: str, seed: int) -> None:
    rng = random.Random(seed)
    files = placeable(store, tree(rng, ["utf-8"], rng.choice([6, 24, 50] if store in HERE else [6, 12])))
    with held(store, files, rng) as place:
        for _ in range(4):
            request = ListRequest(
                glob=rng.choice([(), ("*.txt",)]),
                depth=rng.choice([1, 2, 3, 30]),
                include=frozenset(rng.choice([(), ("ignored",)])),
                sort=rng.choice(["name", "size", "mtime"]),
                limit=rng.choice([1, 3, 7, None]),
            )
            wanted = entries(files, LINKS if store in ON_DISK else {}, request)
            at_once = listing(place, replace(request, limit=10**6), ROOMY, None)
            in_order = sorted(wanted, key=path_key)
            assert sorted((entry.path for entry in at_once), key=path_key) == in_order
            cap = Cap(rng.choice(CAPS), MEASURE)
            assert listing(place, request, cap, None) == at_once
            found = [entry.path for entry in listing(place, request, cap, rng)]
            assert found in ([entry.path for entry in at_once], in_order)


# --- find_relevant -----------------------------------------------------------------------------

Lines: TypeAlias = "tuple[str, int | None, int]"


class Finding:
    """Follows one ranked search: the lines that it shows, or names."""

    def __init__(self, store: Store, documents: DocumentCache, rng: random.Random | None) -> None:
        self._services = replace(serving(Guard(store)), documents=lambda: documents)
        self._rng = rng
        self.begun: list[Lines] = []
        self.lines: set[Lines] = set()
        self.paths: list[str] = []
        self.said: list[str] = []
        self.left = 0

    def follow(self, request: FindRequest) -> None:
        following: FindRequest | None = request
        for _ in range(MOST_PAGES):
            if following is None:
                return
            clock = Clock(None if self._rng is None else self._rng.choice(LOOKS))
            result = find(self._services, job(following, Cap(50_000, MEASURE), Deadline(clock=clock)))
            assert result.files or result.next is None or not result.complete
            for file in result.files:
                self.paths.append(file.path)
                for one in file.passages:
                    self.begun.append((file.path, one.part, one.first))
                    self.lines |= {(file.path, one.part, at) for at in range(one.first, one.last + 1)}
            for item in result.omitted:
                if item.reason == "compressed":
                    self.left += item.last
                elif item.what == "passages":
                    assert isinstance(item.request, FindRequest)
                    self.follow(item.request)
                elif item.what == "lines":
                    assert isinstance(item.request, ReadRequest)
                    part = None if item.request.pages is None else int(item.request.pages)
                    self.lines |= {(item.request.path, part, at) for at in range(item.first, item.last + 1)}
            self.said += [warning.detail for warning in result.warnings if warning.code != "left_out"]
            following = result.next
        raise AssertionError("following `next` does not end")


@pytest.mark.parametrize("kind", ["plain", "archives", "documents"])
@daily(2, "seed", range(12))
def test_a_ranked_search_shows_every_passage_once_wherever_time_ends(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    sorts = {"archives": ARCHIVES, "documents": DOCUMENTS}.get(kind, PLAIN)
    files = tree(rng, sorts, rng.choice([6, 12, 24]))
    more: set[FindInclude] = {"archives", "hidden"} if kind == "archives" else {"ignored"}
    packed: set[FindInclude] = {"compressed"} if rng.random() < 0.5 else set()
    request = FindRequest(
        "needle",
        output=rng.choice(["passages", "passages", "files"]),
        budget_tokens=rng.choice([100, 400, 3000]),
        include=frozenset(more | packed),
        documents=kind == "documents",
    )
    include = {"", *request.include, *(["documents"] if request.documents else [])}
    every = dict(with_members(files))
    wanted = {
        (path, part, number)
        for path, made in every.items()
        if made.needs in include and seen(path, request.include)
        for part, lines in made.lines.items()
        for number, line in enumerate(lines, 1)
        if "needle" in line.lower()
    }
    documents = DocumentCache()
    try:
        with held("memory", files, rng) as place:
            # How far each document was looked at in time is another matter.
            for hurried in (None,) if kind == "documents" else (None, rng):
                finding = Finding(place, documents, hurried)
                finding.follow(request)
                # Where time is up before anything was looked at, members are named instead.
                late = any("not expanded in time" in said for said in finding.said)
                told = [said for said in finding.said if "U+0000" not in said and "not searched" not in said]
                assert bool(told) is late
                wanted = {place for place in wanted if not (late and every[place[0]].needs)}
                others = [path for path, made in every.items() if made.needs == "compressed"]
                assert finding.left == (0 if packed else sum(seen(path, request.include) for path in others))
                assert len(finding.begun) == len(set(finding.begun))
                if request.output == "files":
                    assert len(finding.paths) == len(set(finding.paths))
                    assert {path for path, _, _ in wanted} <= {*finding.paths}
                else:
                    assert wanted <= finding.lines
    finally:
        documents.close()


# --- while files change ------------------------------------------------------------------------


@daily(3, "seed", range(12))
@pytest.mark.parametrize("kind", ["list", "grep", "compressed"])
def test_what_stays_is_shown_once_while_others_come_and_go(tmp_path: Path, kind: str, seed: int) -> None:
    """Pages go on by name: what is made and removed between them moves nothing."""
    rng = random.Random(f"{kind} {seed}")

    def name() -> str:
        return rng.choice(["", "d/", "d/e/", "b.d/"]) + "".join(rng.choices("aAb.é-!", k=3)) + ".txt"

    def put(path: str) -> None:
        Path(tmp_path, path).parent.mkdir(parents=True, exist_ok=True)
        text = b"needle\nhay\nneedle\n"
        Path(tmp_path, path).write_bytes(PACK["gzip"](text) if kind == "compressed" else text)

    stay, others = {name() for _ in range(25)}, set[str]()
    for path in stay:
        put(path)
    include = frozenset[Include](["compressed"] if kind == "compressed" else [])
    grepped: GrepRequest | None = GrepRequest("needle", include=include | {"hidden"}, sort="path", limit=3)
    listed: ListRequest | None = ListRequest(depth=9, limit=3)
    found: list[tuple[str, int | None]] = []
    services = serving(Guard(LocalStore(tmp_path)))
    while (listed if kind == "list" else grepped) is not None:
        if kind == "list":
            assert listed is not None
            listing_page = list_page(services, job(listed, ROOMY))
            found += [(entry.path, None) for entry in listing_page.entries]
            listed = listing_page.next
        else:
            assert grepped is not None
            page = grep(services, job(grepped, ROOMY))
            found += [(path, line) for path, _, line in shown(page)]
            grepped = page.next
        for path in [path for path in others if rng.random() < 0.4]:
            Path(tmp_path, path).unlink()
            others.discard(path)
        for path in {name() for _ in range(rng.randint(0, 4))} - stay:
            put(path)
            others.add(path)
    lines = [None] if kind == "list" else [1, 3]
    assert sorted(place for place in found if place[0] in stay) == sorted(
        (path, line) for path in stay for line in lines
    )
    assert len(found) == len(set(found))
