"""An audit: records in, sessions with their findings out, one record at a time.

`Options` is all that decides the result besides the records, and can be sent to another process: the same
options and the same record give the same rows, wherever they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from readroom.lens import findings, kept
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.normal_form import Replayed, SkippedPart
from readroom.lens.records import NotReadable, Unknown, read
from readroom.lens.records.events import Event, Skipped
from readroom.lens.sessions import Audited, Detector, sessions
from readroom.policy.rules import Rules, denials
from readroom.session.counters import counter

if TYPE_CHECKING:
    from readroom.lens.replay import Replay


class Options(msgspec.Struct, frozen=True):
    """What an audit does.

    `counter` is the name of a token counter ("estimate" or "o200k"); `root` a folder whose
    `readroom.toml` adds to the policy, None for the built-in rules alone; `secrets` whether secrets are
    looked for; `folder` leaves sessions of other folders out; `replay` is a folder in which the calls are
    made again.
    """

    counter: str = "estimate"
    root: str | None = None
    secrets: bool = True
    folder: str | None = None
    replay: str | None = None


NO_RECORD = "no record"
"""Where a part stands that is a whole file and not the record of a client that is known."""


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
    from readroom import config

    return Rules(config.load(config.open_store(root)).layers or (denials(),))


@cache
def _scanner() -> SecretScanner:
    return SecretScanner()


def audit(record: Path, options: Options) -> Iterator[Audited | SkippedPart]:
    """The sessions of one record and what of it was not read.

    A record that is not one is a `SkippedPart`, like a line that is broken: an audit of many goes on.

    Raises:
        MissingProgram: A token counter or the library for secrets is not installed.
        BadConfig: The policy of `options.root` cannot be used.
    """
    made = findings.detectors(
        _rules(options.root), kept.beside(record), _scanner() if options.secrets else None
    )
    name = str(record)
    count = _counter(options.counter)
    with ExitStack() as stack:
        replays: list[Replay] = []
        make = made
        if options.replay is not None:
            from readroom.lens.replay import Replay, workspace_at

            workspace = stack.enter_context(workspace_at(options.replay))

            def make() -> Sequence[Detector]:
                replays.append(Replay(workspace, count))
                return [replays[-1], *made()]

        for part in sessions(_events(record), name, count, make):
            if not isinstance(part, Audited):
                yield part
            elif options.folder is None or part.session.folder == options.folder:
                part.replayed += _replayed(replays, part.session.session)
                yield part


def _replayed(replays: list[Replay], session: str) -> list[Replayed]:
    """The rows of a session that has ended, taken out: a record may hold any number of sessions."""
    ended = [replay for replay in replays if replay.rows() and replay.rows()[0].session == session]
    for replay in ended:
        replays.remove(replay)
    return [row for replay in ended for row in replay.rows()]


def _events(record: Path) -> Iterator[Event]:
    """The events of a record; where it cannot be read on, that is the last of them."""
    try:
        yield from read(record)
    except Unknown as error:
        yield Skipped(NO_RECORD, str(error))
    except NotReadable as error:
        yield Skipped("file", str(error))
    except OSError as error:
        yield Skipped("file", f"cannot be read: {error.strerror or type(error).__name__}")
