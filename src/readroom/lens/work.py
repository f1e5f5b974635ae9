"""Audits of many records: one seam, an executor, so that the same job runs in this process, in many, or
on a cluster.

Each record becomes one part, a file of rows whose name says what it was made from (the record's path,
size and time, the options, the form). Parts are merged in the order of the records, so the result is the
same whoever made them, and parts that are there need not be made again. A worker that dies costs the
parts it was making, which are made once more.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from readroom.errors import BadValue, MissingProgram, StoreFailed
from readroom.extras import install
from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import FORM, KINDS, Row, Session, SkippedPart
from readroom.lens.sessions import Audited
from readroom.limits.lens import PARTS_AHEAD, WORKER_TRIES

Part = Audited | SkippedPart


class Engine(msgspec.Struct, frozen=True):
    """What makes an executor, called again when one has broken, and how its futures say that it has."""

    make: Callable[[], Executor]
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)


class Progress(msgspec.Struct, frozen=True):
    """How far a job is: records done of how many, how many of those were there already, and since when
    (monotonic seconds).
    """

    done: int
    total: int
    reused: int
    started: float

    def seconds_left(self, now: float) -> float | None:
        """At the rate so far; None before there is one."""
        made = self.done - self.reused
        if made <= 0:
            return None
        return (now - self.started) / made * (self.total - self.done)


def one_by_one(records: Iterable[Path], options: Options) -> Iterator[Part]:
    """The sessions of all records, in this process, one record after the other and nothing kept."""
    for record in records:
        yield from audit(record, options)


def side_by_side(
    records: list[Path],
    options: Options,
    engine: Engine,
    folder: Path | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Generator[Part, None, None]:
    """The same as `one_by_one`, made by an executor.

    Args:
        records: What is audited.
        options: How.
        engine: Makes the executor; its workers must see the records and the folder under the same paths.
        folder: Where parts are kept, so that a job that was stopped goes on; without one they are removed.
        tell: Is told after each record.
    """
    with _folder(folder) as parts:
        started = time.monotonic()
        reused = 0
        for index, (part, was_there) in enumerate(_made(records, options, engine, parts)):
            reused += was_there
            yield from _rows(part)
            if folder is None:
                with suppress(OSError):
                    part.unlink()
            tell(Progress(index + 1, len(records), reused, started))


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
    """The parts in order, a few being made ahead; where an executor broke, a new one makes what is
    missing.
    """
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
                    first.future.result()
            except engine.broken:
                executor.shutdown(wait=False, cancel_futures=True)
                executor = engine.make()
                _again(waiting, executor, options)
                continue
            yield waiting.popleft().part, first.future is None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _again(waiting: deque[_Running], executor: Executor, options: Options) -> None:
    # Who of those that were being made broke it cannot be told: the first is tried a few times and then
    # left out.
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
    except BrokenExecutor as error:  # it broke since: found when its turn comes, like one that breaks later
        future: Future[None] = Future()
        future.set_exception(error)
        return future


def make_part(record: str, part: str, options: Options) -> None:
    """Audit one record and write its part: what a worker does."""
    _write(Path(part), audit(Path(record), options))


def _write(part: Path, rows: Iterable[Part]) -> None:
    # A part is there whole or not at all: whoever finds it takes it as made.
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
"""Of a line of JSON."""

_LISTS = {kind: name for name, kind in KINDS.items()}


def _rows(part: Path) -> Iterator[Part]:
    with part.open("rb") as stream:
        yield from grouped(map(ROWS.decode, stream))


def grouped(rows: Iterable[Row]) -> Iterator[Part]:
    """Sessions, put together again from their rows, each of which begins with its own."""
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
# Where an audit of many records runs: processes of this machine, or a Dask cluster that is already there.
#
# Both are executors. The workers of a cluster must see the records and the folder of parts under the same
# paths, and have readroom installed.
# -----------------------------------------------------------------------------

T = TypeVar("T")


class _Cluster(Executor):
    """A Dask client as an executor that closes what it opened."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)

    def submit(self, function: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        submitted: Future[T] = self._executor.submit(function, *arguments, **options)
        return submitted

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def local(workers: int) -> Engine:
    """Processes of this machine, started afresh so that they share nothing with this one."""
    return Engine(lambda: ProcessPoolExecutor(workers, mp_context=get_context("spawn")), (BrokenExecutor,))


def named(address: str) -> Engine:
    """The engine at an address: `dask://HOST:PORT` is the scheduler of a cluster.

    Raises:
        BadValue: It is not such an address.
        MissingProgram: The library is not installed.
        StoreFailed: Nobody answers there.
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

    connect: Callable[..., Any] = Client  # it is not annotated

    def connected() -> Executor:
        try:
            client = connect(f"tcp://{parts.hostname}:{port}", timeout="10s", set_as_default=False)
        except OSError as error:
            raise StoreFailed(address, "no scheduler answers there") from error
        return _Cluster(client)

    # Dask itself makes again what a dead worker was making; only what killed several workers comes back as
    # this.
    return Engine(connected, (BrokenExecutor, KilledWorker))
