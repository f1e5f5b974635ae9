"""What a document may take is processor time: other work of the machine does not make it unreadable."""

from __future__ import annotations

from collections.abc import Callable

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.limits import DOCUMENT_TIMEOUT_S, Limits
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.documents.limits import DOCUMENT_PATIENCE
from tests.documents.reading.making import pdf
from tests.laws.driving import fact

FILES = {"a.pdf": pdf([["first words"], ["second words"]])}


def stalled(seconds: float, looks: int = 4) -> Callable[[], float]:
    """A clock on which so much time passes while a document is read: others have the processor."""
    seen = iter(range(1_000_000))
    return lambda: seconds if next(seen) > looks else 0.0


def test_a_document_that_waits_for_the_processor_is_read() -> None:
    with Workspace(MemoryStore(FILES)) as space:
        deadline = Deadline(clock=stalled(2 * DOCUMENT_TIMEOUT_S))
        reply = space.call("read_file", {"path": "a.pdf"}, deadline=deadline)
        assert not reply.is_error, reply.text
        assert "second words" in reply.text


def test_a_search_waits_for_the_processor_too() -> None:
    with Workspace(MemoryStore(FILES)) as space:
        deadline = Deadline(clock=stalled(2 * DOCUMENT_TIMEOUT_S, looks=8))
        arguments = {"pattern": "second", "path": "a.pdf", "documents": True, "timeout_s": 120}
        reply = space.call("grep_files", arguments, deadline=deadline)
        assert "second words" in reply.text


def test_the_clock_is_the_last_resort() -> None:
    with Workspace(MemoryStore(FILES)) as space:
        deadline = Deadline(clock=stalled(DOCUMENT_PATIENCE * DOCUMENT_TIMEOUT_S + 1))
        reply = space.call("read_file", {"path": "a.pdf"}, deadline=deadline)
        assert fact(reply, "error")["code"] == "timed_out"
        assert "processor" not in reply.text


def test_what_works_too_long_is_told_so() -> None:
    limits = Limits(document_timeout_s=0.01)
    with Workspace(MemoryStore(FILES), settings=Settings(limits=limits)) as space:
        text = space.call("read_file", {"path": "a.pdf"}, deadline=Deadline(clock=lambda: 0.0)).text
    assert "processor time" in text
