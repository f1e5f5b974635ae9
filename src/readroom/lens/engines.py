"""Where an audit of many records runs: processes of this machine, or a Dask cluster that is already there.

Both are executors; `work` knows no more of them. The workers of a cluster must see the records and the
folder of parts under the same paths, and have readroom installed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar
from urllib.parse import urlsplit

from readroom.errors import BadValue, MissingProgram, StoreFailed
from readroom.extras import install
from readroom.lens.work import Engine

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
