"""Read windows of several files, each as if it were asked for alone."""

from __future__ import annotations

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.services import Job, Services
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.text.select import byte_size
from readroom.core.values import ReadRequest, ReadResult
from readroom.core.values.many import LEFT_OUT_BYTES, ReadManyRequest, ReadManyResult


def perform(services: Services, job: Job[ReadManyRequest]) -> ReadManyResult:
    """Read windows of several files; a file that cannot be read has its failure instead.

    The first may be as large as the reply; when what was read has no room any more, the others are not read.

    Raises:
        Closed: The workspace was closed meanwhile.
        TimedOut, Cancelled: From the deadline of the call.
    """
    del services  # each part gets its own
    assert job.part is not None
    asked = job.request
    size = max(MIN_REPLY_BYTES, job.cap.size - (len(asked.paths) - 1) * LEFT_OUT_BYTES)
    cap, left = replace(job.cap, size=size), size
    items: list[ReadResult | errors.ReadroomError] = []
    for path, options in zip(asked.paths, asked.options, strict=True):
        if left <= 0:
            break
        job.deadline.check()
        try:
            result = job.part(ReadRequest(path, asked.offset, asked.limit, options=options), cap)
        except (errors.Closed, errors.Cancelled):
            raise
        except errors.ReadroomError as error:
            items.append(error)
            continue
        assert isinstance(result, ReadResult)
        items.append(result)
        left -= sum(byte_size(line) for line in result.lines)
    return ReadManyResult(items)
