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

from readroom.lens.findings.content import Cuts, Denied, Hidden, Instructions, KeptText, Secrets, kept_beside
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.findings.use import FailedEdits, Floods, Repeats, Use
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records import NotReadable, Unknown, read
from readroom.lens.records.events import Event, Skipped
from readroom.lens.sessions import Audited, Detector, sessions
from readroom.limits.lens import BOUNDS, Bounds
from readroom.policy.rules import Rules, denials
from readroom.session.budgets import counter

if TYPE_CHECKING:
    from readroom.lens.replay import Replay
    from readroom.workspace import Workspace


class Options(msgspec.Struct, frozen=True):
    """What an audit does.

    `counter` is the name of a token counter ("estimate" or "o200k"); `root` a folder whose
    `readroom.toml` adds to the policy, None for the built-in rules alone; `secrets` whether secrets are
    looked for; `folders` are the names of one folder, sessions of others being left out; `replay` is a folder
    in which the calls are made again.
    """

    counter: str = "estimate"
    root: str | None = None
    secrets: bool = True
    folders: tuple[str, ...] = ()
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


def audit(record: Path, options: Options, bounds: Bounds = BOUNDS) -> Iterator[Audited | SkippedPart]:
    """The sessions of one record and what of it was not read.

    A record that is not one is a `SkippedPart`, like a line that is broken: an audit of many goes on.

    Raises:
        MissingProgram: A token counter or the library for secrets is not installed.
        BadConfig: The policy of `options.root` cannot be used.
    """
    rules, kept_text = _rules(options.root), kept_beside(record)
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
            elif not options.folders or part.session.folder in options.folders:
                yield _with_replay(part, replays)


def _detectors(
    rules: Rules, kept_text: KeptText, scanner: SecretScanner | None, bounds: Bounds
) -> Sequence[Detector]:
    """Those of one session: without a scanner none looks for secrets."""
    made: list[Detector] = [] if scanner is None else [Secrets(scanner, bounds)]
    return [
        *made, Denied(rules, bounds), Cuts(kept_text, bounds), Repeats(bounds), Use(bounds),
        FailedEdits(bounds), Floods(bounds), Hidden(bounds), Instructions(bounds),
    ]  # fmt: skip


def _with_replay(part: Audited, replays: dict[str, Replay]) -> Audited:
    """A session that has ended, with the calls that were made again."""
    replay = replays.pop(part.session.session, None)
    if replay is not None:
        part.replayed += replay.rows()
    return part


def _events(record: Path, bounds: Bounds) -> Iterator[Event]:
    """The events of a record; where it cannot be read on, that is the last of them."""
    try:
        yield from read(record, bounds)
    except Unknown as error:
        yield Skipped(NO_RECORD, str(error))
    except NotReadable as error:
        yield Skipped("file", str(error))
    except OSError as error:
        yield Skipped("file", f"cannot be read: {error.strerror or type(error).__name__}")
