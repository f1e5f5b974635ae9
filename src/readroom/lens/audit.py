"""Audits: a record in, its sessions with their findings out; many records side by side.

`Options` and the record alone decide the result, so any process may make it.

Of many records, each becomes one part: a file of rows, named by what it was made from (path, size and time of
the record, options, version of the normal form). Parts are merged in the order of the records, so the result
does not depend on the workers, and a part that exists is not made again. When a worker dies, the parts it
was making are made once more.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from readroom.core.errors import BadValue, MissingProgram, StoreFailed
from readroom.core.extras import install
from readroom.core.policy.rules import Rules, denials
from readroom.core.session.meter import counter
from readroom.lens.findings.content import Cuts, Denied, Hidden, Instructions, KeptText, Secrets, kept_text_of
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.findings.use import FailedEdits, Floods, Repeats, Use
from readroom.lens.limits import BOUNDS, Bounds
from readroom.lens.normal_form import FORM, KINDS, Row, Session, SkippedPart
from readroom.lens.records import NotReadable, Unknown, read
from readroom.lens.records.events import Event, Skipped
from readroom.lens.sessions import Audited, Detector, sessions

if TYPE_CHECKING:
    from readroom.core.workspace import Workspace
    from readroom.lens.replay import Replay

PARTS_AHEAD = 64
"""Records that are being audited ahead of the one whose rows are next: enough for any number of
processors of one machine.
"""

WORKER_TRIES = 2
"""Attempts for a record when workers die over it."""

ENGINE_CONNECT_S = 10
"""How long a scheduler of a cluster may take to answer."""

ENGINE_CHECK_S = 1.0
"""Interval of checks that the scheduler of a running audit is alive."""

ENGINE_CLOSE_S = 2
"""How long the connection to a scheduler may take to close."""


Part = Audited | SkippedPart


class Options(msgspec.Struct, frozen=True):
    """Options of an audit.

    `counter` names a token counter ("estimate" or "o200k"). `root` is a folder whose `readroom.toml` adds to
    the built-in policy. `secrets` says whether to look for secrets. `folders` are the names of one folder:
    sessions of other folders are left out. `replay` is a folder in which to make the calls again.
    """

    counter: str = "estimate"
    root: str | None = None
    secrets: bool = True
    folders: tuple[str, ...] = ()
    replay: str | None = None


NO_RECORD = "no record"
"""The place in a `SkippedPart` for a whole file of an unknown format."""


class _Counter(msgspec.Struct, frozen=True):
    count: Callable[[str], int]
    exact: bool


@cache
def _counter(name: str) -> _Counter:
    return _Counter(counter(name), name != "estimate")


@cache
def _rules(root: str | None) -> Rules:
    if root is None:
        return Rules((denials(),))
    from readroom.core import config

    return Rules(config.load(config.open_store(root)).layers or (denials(),))


@cache
def _scanner() -> SecretScanner:
    return SecretScanner()


def audit(record: Path, options: Options, bounds: Bounds = BOUNDS) -> Iterator[Part]:
    """The sessions of one record, and its skipped parts.

    A file that is not a record gives a `SkippedPart`, as a broken line does: an audit of many continues.

    Raises:
        MissingProgram: A token counter or the library for secrets is not installed.
        BadConfig: The policy of `options.root` cannot be used.
    """
    rules, kept_text = _rules(options.root), kept_text_of(record)
    scanner = _scanner() if options.secrets else None
    name = str(record)
    count = _counter(options.counter)
    with ExitStack() as stack:
        replays: dict[str, Replay] = {}
        workspace: Workspace | None = None
        if options.replay is not None:
            from readroom.lens.replay import Replay, workspace_at

            workspace = stack.enter_context(workspace_at(options.replay))

        def make(session: str) -> Sequence[Detector]:
            made = _detectors(rules, kept_text, scanner, bounds)
            if workspace is None:
                return made
            replays[session] = Replay(workspace, count)
            return [replays[session], *made]

        for part in sessions(_events(record, bounds), name, count, make, bounds):
            if not isinstance(part, Audited):
                yield part
                continue
            if scanner is not None and scanner.found("", part.session.title).kinds:
                part.session = replace(part.session, title="")
            if not options.folders or part.session.folder in options.folders:
                yield _with_replay(part, replays)


def _detectors(
    rules: Rules, kept_text: KeptText, scanner: SecretScanner | None, bounds: Bounds
) -> Sequence[Detector]:
    made: list[Detector] = [] if scanner is None else [Secrets(scanner, bounds)]
    return [
        *made, Denied(rules, bounds), Cuts(kept_text, bounds), Repeats(bounds), Use(bounds),
        FailedEdits(bounds), Floods(bounds), Hidden(bounds), Instructions(bounds),
    ]  # fmt: skip


def _with_replay(part: Audited, replays: dict[str, Replay]) -> Audited:
    """A finished session, with its calls made again."""
    replay = replays.pop(part.session.session, None)
    if replay is not None:
        part.replayed += replay.rows()
    return part


def _events(record: Path, bounds: Bounds) -> Iterator[Event]:
    """The events of a record; the last one reports why it could not be read further."""
    try:
        yield from read(record, bounds)
    except Unknown as error:
        yield Skipped(NO_RECORD, str(error))
    except NotReadable as error:
        yield Skipped("file", str(error))
    except OSError as error:
        yield Skipped("file", f"cannot be read: {error.strerror or type(error).__name__}")


# -----------------------------------------------------------------------------
# Many records: an executor makes one part of each.
# -----------------------------------------------------------------------------


class Engine(msgspec.Struct, frozen=True):
    """A factory of executors, and the errors of futures after which a new executor is needed.

    `check` raises when an executor can finish nothing any more, which its futures may never tell.
    """

    make: Callable[[], Executor]
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)
    check: Callable[[Executor], None] = lambda executor: None


class Progress(msgspec.Struct, frozen=True):
    """Progress of a job: records done and in all, parts that existed already, and its start (monotonic)."""

    done: int
    total: int
    reused: int
    started: float

    def seconds_left(self, now: float) -> float | None:
        """An estimate from the rate so far; None before there is one."""
        made = self.done - self.reused
        return None if made <= 0 else (now - self.started) / made * (self.total - self.done)


def one_by_one(records: Iterable[Path], options: Options) -> Iterator[Part]:
    """The sessions of all records, audited in this process one after the other."""
    for record in records:
        yield from audit(record, options)


def side_by_side(
    records: list[Path],
    options: Options,
    engine: Engine,
    folder: Path | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Generator[Part, None, None]:
    """The results of `one_by_one`, made by an executor.

    Args:
        records: The files to audit.
        options: How to audit them.
        engine: Makes the executor; its workers must see the records and the folder under the same paths.
        folder: Where to keep parts, so that a stopped job can continue; without one they are removed.
        tell: Called after each record.
    """
    # Workers elsewhere have another current folder; in the result a record has the name that it was given.
    absolute = [record.absolute() for record in records]
    with _folder(folder) as parts:
        started = time.monotonic()
        reused = 0
        for index, (part, was_there) in enumerate(_made(absolute, options, engine, parts)):
            reused += was_there
            with part.open("rb") as stream:
                yield from (_named(one, str(records[index])) for one in grouped(map(ROWS.decode, stream)))
            if folder is None:
                with suppress(OSError):
                    part.unlink()
            tell(Progress(index + 1, len(records), reused, started))


def _named(part: Part, record: str) -> Part:
    if isinstance(part, SkippedPart):
        return replace(part, record=record)
    part.session = replace(part.session, record=record)
    return part


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="readroom-audit-") as made:
        yield Path(made)


class _Running(msgspec.Struct):
    record: Path
    part: Path
    future: Future[None] | None
    tries: int = 1


def _made(records: list[Path], options: Options, engine: Engine, parts: Path) -> Iterator[tuple[Path, bool]]:
    """The parts in order, a few made ahead; when an executor breaks, a new one makes the missing ones."""
    waiting: deque[_Running] = deque()
    rest = iter(records)
    executor = engine.make()
    try:
        while True:
            while len(waiting) < PARTS_AHEAD and (record := next(rest, None)) is not None:
                part = parts / _name(record, options)
                future = None if part.exists() else _submitted(executor, record, part, options)
                waiting.append(_Running(record, part, future))
            if not waiting:
                return
            first = waiting[0]
            try:
                if first.future is not None:
                    _finished(first.future, executor, engine)
            except engine.broken:
                executor.shutdown(wait=False, cancel_futures=True)
                executor = engine.make()
                _again(waiting, executor, options)
                continue
            yield waiting.popleft().part, first.future is None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _finished(future: Future[None], executor: Executor, engine: Engine) -> None:
    """Wait for a part. Raises the worker's exception, or that of `Engine.check` meanwhile."""
    while True:
        try:
            return future.result(timeout=ENGINE_CHECK_S)
        except engine.broken:
            raise
        except Exception:
            engine.check(executor)
            if future.done():
                raise


def _again(waiting: deque[_Running], executor: Executor, options: Options) -> None:
    # Which of the running records broke it is unknown: the first is tried a few times, then left out.
    first = waiting[0]
    first.tries += 1
    if first.tries > WORKER_TRIES:
        _write(first.part, [SkippedPart(str(first.record), "file", "the process that read it died")])
        first.future = None
    for running in waiting:
        if running.future is not None and not running.part.exists():
            running.future = _submitted(executor, running.record, running.part, options)


def _submitted(executor: Executor, record: Path, part: Path, options: Options) -> Future[None]:
    try:
        return executor.submit(make_part, str(record), str(part), options)
    except BrokenExecutor as error:  # it broke meanwhile: raised when its turn comes
        future: Future[None] = Future()
        future.set_exception(error)
        return future


def make_part(record: str, part: str, options: Options) -> None:
    """Audit one record and write its part, in a worker."""
    _write(Path(part), audit(Path(record), options))


def _write(part: Path, rows: Iterable[Part]) -> None:
    # Written under another name first: a part that exists is complete.
    handle, name = tempfile.mkstemp(dir=part.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as stream:
            for row in rows:
                for flat in row.rows() if isinstance(row, Audited) else (row,):
                    stream.write(msgspec.json.encode(flat) + b"\n")
        os.replace(name, part)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


ROWS: msgspec.json.Decoder[Row] = msgspec.json.Decoder(Row)
"""Decodes a line of a part or of an export."""

_LISTS = {kind: name for name, kind in KINDS.items()}


def grouped(rows: Iterable[Row]) -> Iterator[Part]:
    """Sessions put together again from their rows; each begins with its `Session` row."""
    current: Audited | None = None
    for row in rows:
        if isinstance(row, Session | SkippedPart):
            if current is not None:
                yield current
            current = Audited(row, [], [], [], []) if isinstance(row, Session) else None
            if isinstance(row, SkippedPart):
                yield row
        elif current is not None:
            getattr(current, _LISTS[type(row)]).append(row)
    if current is not None:
        yield current


def _name(record: Path, options: Options) -> str:
    try:
        state = record.stat()
        seen = f"{state.st_size}:{state.st_mtime_ns}"
    except OSError:
        seen = "absent"
    text = f"{FORM}\0{record}\0{seen}\0".encode("utf-8", "surrogateescape") + msgspec.json.encode(options)
    return hashlib.sha256(text).hexdigest()[:40] + ".jsonl"


# -----------------------------------------------------------------------------
# Where many records are audited: in processes of this machine, or on a Dask cluster that is already running.
#
# Both are executors. The workers of a cluster must see the records and the folder of parts under the same
# paths, and have readroom installed.
# -----------------------------------------------------------------------------

T = TypeVar("T")


class _Cluster(Executor):
    """A Dask client as an executor that closes what it opened."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._executor = client.get_executor(pure=False)

    def submit(self, function: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        try:
            submitted: Future[T] = self._executor.submit(function, *arguments, **options)
        except Exception:
            self.check()
            raise
        return submitted

    def check(self) -> None:
        """Raises StoreFailed if the scheduler is gone, which the client has tried to reach for some time."""
        if self._client.status in ("closing", "closed"):
            raise StoreFailed(self._address, "the scheduler no longer answers", _GO_ON)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        # A client whose scheduler is gone waits for it, or raises a failure known already.
        with suppress(Exception):
            if self._client.status == "running":
                self._executor.shutdown(wait=wait and not cancel_futures)
            self._client.close(timeout=ENGINE_CLOSE_S)


_GO_ON = (
    "Start a cluster again and run the same command: `--resume DIR` continues after the finished records."
)
_LOGS = (
    "distributed", "distributed.client", "distributed.core", "distributed.comm", "tornado.application",
    "asyncio",
)  # fmt: skip
"""Loggers that are silenced: one sentence of ours reports a lost connection."""


def processes(workers: int) -> Engine:
    """Processes of this machine, spawned so that they share nothing with this one."""
    return Engine(lambda: ProcessPoolExecutor(workers, mp_context=get_context("spawn")), (BrokenExecutor,))


def cluster_at(address: str) -> Engine:
    """The engine at an address: `dask://HOST:PORT` is the scheduler of a cluster.

    Raises:
        BadValue: The address has another form.
        MissingProgram: The library is not installed.
        StoreFailed: No scheduler answers there.
    """
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "dask" or not parts.hostname or port is None:
        raise BadValue("--engine", address, "not the address of a scheduler", "Write dask://HOST:PORT.")
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise MissingProgram("distributed", install("dask")) from None

    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    connect: Callable[..., Any] = Client  # it is not annotated

    def connected() -> Executor:
        try:
            client = connect(
                f"tcp://{parts.hostname}:{port}", timeout=f"{ENGINE_CONNECT_S}s", set_as_default=False
            )
        except OSError as error:
            raise StoreFailed(address, "no scheduler answers there", _GO_ON) from error
        return _Cluster(client, address)

    def check(executor: Executor) -> None:
        if isinstance(executor, _Cluster):
            executor.check()

    # Dask itself repeats the work of a dead worker; this means that a record killed several workers.
    return Engine(connected, (BrokenExecutor, KilledWorker, CancelledError), check)
