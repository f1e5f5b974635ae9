"""audit: lines that agents read, their cost, and failures, from the records of their clients."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TextIO

import click
import msgspec

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.folders import Folder
from readroom.cli.options import flag, json_option, option, subcommand
from readroom.core import config
from readroom.core.errors import BadValue, NotFound, UsageError
from readroom.core.quoting import joined, plain
from readroom.core.rows import FINDINGS, FindingKind
from readroom.core.session.meter import COUNTERS
from readroom.lens import records
from readroom.lens.audit import Engine, Options, Progress, cluster_at, one_by_one, processes, side_by_side
from readroom.lens.compare import before, compared
from readroom.lens.copies import without_copies
from readroom.lens.findings import secrets
from readroom.lens.gates import Gate, gates
from readroom.lens.money import price_list
from readroom.lens.normal_form import FORM, JsonLines, Parquet, Sink, SkippedPart, counted
from readroom.lens.report import Totals, html, statements
from readroom.lens.report import terminal as words
from readroom.lens.report.annotations import commands
from readroom.lens.report.habits import HABITS, setting
from readroom.lens.sessions import Audited
from readroom.lens.wanted import USUAL_DAYS, Wanted, moment

_SHOWN = 5
"""Findings of each kind on a terminal without --limit."""

_PIPE_COLUMNS = 100
"""The width of the report where there is no terminal."""

_PLACES_COLUMNS = 80


def _audit(
    paths: tuple[str, ...],
    here: bool,
    since: str | None,
    until: str | None,
    project: str | None,
    whole: bool,
    as_json: bool,
    details: bool,
    page: str | None,
    rows: str | None,
    parquet: str | None,
    fail_on: str | None,
    annotations: bool,
    compare: str | None,
    limit: int,
    tokens: str,
    prices: str | None,
    root: str | None,
    no_secrets: bool,
    workers: int,
    resume: str | None,
    force: bool,
    replay: str | None,
    commit: str | None,
    engine: str | None,
) -> ExitCode:
    """Report where agents spent their context, and what it cost.

    Without PATHS: the sessions of every client on this machine in the last 7 days. PATHS are session records
    of clients, or folders of them; --here finds the records of the current folder.
    """
    asked = gates(fail_on)
    secrets_asked = any(gate.kind == "secrets" for gate in asked)
    if no_secrets and secrets_asked:
        raise UsageError("--no-secrets and --fail-on secrets contradict each other", "Leave one of them out")
    with_secrets = not no_secrets and (secrets.installed() or secrets_asked)
    if commit is not None and replay is None:
        raise UsageError("--commit needs --replay", "Give the folder with --replay")
    old = None if compare is None else before(compare)
    totals = Totals(price_list(prices))
    if with_secrets:
        totals.courses.harmless = secrets.is_harmless
    chosen = _chosen(paths, here, _wanted(since, until, project, whole or bool(paths) or here))
    with ExitStack() as stack:
        again = _replayed_in(stack, replay, commit)
        options = Options(tokens, root, with_secrets, chosen.folders, again)
        sinks = _sinks(stack, rows, parquet, force)
        out = _JsonObject() if as_json else None
        parts = _parts(chosen.files, options, _engine(engine, workers, resume), resume)
        for part in chosen.wanted.of(without_copies(parts)):
            totals.add(part)
            for sink in sinks:
                for row in part.rows() if isinstance(part, Audited) else (part,):
                    sink.add(row)
            if out is not None:
                out.add(part)
        if page is not None:
            with _new(page, force, "--html") as stream:
                stream.writelines(html.page(totals, with_secrets))
    if out is not None:
        out.close(totals)
    else:
        lines = [*chosen.places()]
        if totals.sessions or paths:
            width = shutil.get_terminal_size((_PIPE_COLUMNS, 24)).columns
            lines += [words.report(totals, width, limit if details or paths else None, with_secrets)]
        if old is not None:
            lines += ["", *compared(old, totals)]
        if lines:  # where it looked belongs to the complaint that nothing was there
            _write("\n".join(lines), to_log=not (totals.sessions or paths or old))
    if not paths and not totals.sessions:
        output.complain(f"No sessions {chosen.period}found.")
    failing = {gate.kind for gate in asked if gate.failed(totals)}
    if annotations:
        _write("\n".join(commands(totals, failing)), to_log=as_json)
    return _ended(totals, asked)


def _write(text: str, *, to_log: bool = False) -> None:
    data = (text + "\n").encode("utf-8", "backslashreplace")
    if to_log:
        sys.stderr.buffer.write(data)
    elif text:
        output.write(data)


def _wanted(since: str | None, until: str | None, project: str | None, whole: bool) -> Wanted:
    now = datetime.now().astimezone()
    if since is None and not whole:
        since = f"{USUAL_DAYS}d"
    begin = None if since is None else moment("--since", since, now)
    end = None if until is None else moment("--until", until, now, end=True)
    if begin and end and begin >= end:
        raise BadValue("--until", str(until), "is not after --since", "Give a later time.")
    return Wanted(begin, end, project)


class _Chosen(msgspec.Struct, frozen=True):
    """The records of an audit, where they were looked for, and which of their sessions are wanted."""

    files: list[Path]
    looked: list[tuple[Path, int]]
    folders: tuple[str, ...]
    wanted: Wanted

    @property
    def period(self) -> str:
        """The time, in words that end with a blank; empty for all time."""
        since, until = self.wanted.since, self.wanted.until
        begin = f"since {since:%Y-%m-%d %H:%M} " if since else ""
        return begin + (f"until {until:%Y-%m-%d %H:%M} " if until else "")

    def places(self) -> Iterator[str]:
        """The folders that were searched, and the time."""
        if not self.looked:
            return
        yield f"Looked for sessions {self.period}in"
        for place, count in self.looked:
            if place.exists():
                yield f"  {_from_home(place)}: {counted(count, 'record')}"
        absent = [_from_home(place) for place, _ in self.looked if not place.exists()]
        if absent:
            text = f"not there: {', '.join(absent)}"
            yield textwrap.fill(
                text, _PLACES_COLUMNS, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
            )
        yield ""


def _from_home(place: Path) -> str:
    """A place with ~ for the home folder."""
    name, home = str(place), str(Path.home())
    return plain("~" + name[len(home) :] if name.startswith(home + os.sep) else name, 200)


def _chosen(paths: tuple[str, ...], here: bool, wanted: Wanted) -> _Chosen:
    clients = config.variables(*records.VARIABLES)
    folders = records.names_of(Path("."), clients) if here else ()
    if here:
        places = records.places_of(folders, Path.home(), clients)
    else:
        places = [] if paths else records.of_machine(Path.home(), clients)
    files = [file for file in records.records(_named(paths)) if wanted.may_hold(file)]
    looked = []
    for place in places:
        found = [file for file in records.records([place] if place.exists() else []) if wanted.may_hold(file)]
        looked.append((place, len(found)))
        files += found
    return _Chosen(files, looked, folders, wanted)


def _replayed_in(stack: ExitStack, replay: str | None, commit: str | None) -> str | None:
    if replay is None:
        return None
    from readroom.lens.replay.folder import folder_at

    folder = stack.enter_context(folder_at(Path(replay), commit))
    if folder.absent:
        absent = "These submodules are missing at that commit, so their files count as gone"
        output.complain(f"{absent}: {joined(folder.absent)}")
    return str(folder.path)


def _ended(totals: Totals, asked: list[Gate]) -> ExitCode:
    failed = [words for gate in asked if (words := gate.failed(totals))]
    if failed:
        output.complain(f"--fail-on found: {', '.join(failed)}")
        return ExitCode.FOUND
    if asked and (unread := _unread(totals)):
        output.complain(unread)
        return ExitCode.UNCHECKED
    return ExitCode.OK if totals.sessions else ExitCode.NOTHING_FOUND


def _unread(totals: Totals) -> str:
    """Why a check does not pass over these records; empty where all of them were read."""
    part = next(iter(totals.skipped), totals.unknown)
    if part is None:
        return ""
    count = totals.skipped_parts + totals.unknown_files
    first = f"{plain(part.record)}, {plain(part.where)}: {plain(part.why)}"
    return (
        f"--fail-on fails, because {counted(count, 'part')} could not be read: {first}. "
        "Repair these records, or give only readable ones."
    )


def _named(paths: tuple[str, ...]) -> list[Path]:
    absent = [path for path in paths if not os.path.exists(path)]
    if absent:
        raise NotFound(absent[0], advice="Check the path, or use --here.")
    return [Path(path) for path in paths]


def _engine(engine: str | None, workers: int, resume: str | None) -> Engine | None:
    if engine is not None:
        if resume is None:
            raise UsageError("A cluster needs a folder that all its workers see", "Give it with --resume DIR")
        return cluster_at(engine)
    if workers == 1 and resume is None:
        return None
    return processes(workers or os.cpu_count() or 1)


def _parts(
    files: list[Path], options: Options, engine: Engine | None, resume: str | None
) -> Iterator[Audited | SkippedPart]:
    if engine is None:
        yield from one_by_one(files, options)
        return
    folder = Path(resume).absolute() if resume else None
    with output.ProgressLine(sys.stderr) as line:
        yield from side_by_side(files, options, engine, folder, partial(_tell, line))


def _tell(line: output.ProgressLine, progress: Progress) -> None:
    """The progress: records, rate and time left."""
    now = time.monotonic()
    left = progress.seconds_left(now)
    rate = (progress.done - progress.reused) / max(0.001, now - progress.started)
    rest = f", {left:,.0f} s left" if left is not None else ""
    line(progress.done, progress.total, f"records, {rate:,.1f} a second{rest}")


def _sinks(stack: ExitStack, rows: str | None, parquet: str | None, force: bool) -> list[Sink]:
    sinks: list[Sink] = []
    if rows is not None:
        sinks.append(JsonLines(stack.enter_context(_new(rows, force, "--jsonl"))))
    if parquet is not None:
        folder = Path(parquet)
        if folder.exists() and any(folder.iterdir()) and not force:
            raise BadValue("--parquet", parquet, "is not empty", "Choose a new folder, or use --force.")
        sinks.append(Parquet(stack.enter_context(_new_folder(folder))))
    for sink in sinks:
        stack.callback(sink.close)
    return sinks


@contextmanager
def _new(path: str, force: bool, option: str) -> Iterator[TextIO]:
    """A file that gets its name when it is complete, and is removed when it does not become so."""
    real = os.path.realpath(path)
    try:
        if not force and os.path.lexists(path):
            raise FileExistsError
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        part = _beside(real)
        stream = open(part, "x", encoding="utf-8", newline="\n")  # noqa: SIM115
    except FileExistsError:
        raise BadValue(option, path, "already exists", "Choose a new file, or use --force.") from None
    except OSError as error:
        raise BadValue(option, path, f"cannot be written: {error.strerror}", "Choose another file.") from None
    try:
        with stream:
            yield stream
        os.replace(part, real)
    finally:
        with suppress(OSError):
            os.unlink(part)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder whose files get their places when all of them are complete."""
    folder.mkdir(parents=True, exist_ok=True)
    part = Path(_beside(str(folder / "rows")))
    part.mkdir()
    try:
        yield part
        for file in sorted(part.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _beside(path: str) -> str:
    place, name = os.path.split(path)
    return os.path.join(place, f".{name}.{token_hex(4)}.part")


class _JsonObject:
    """One JSON object on standard output, written session by session."""

    def __init__(self) -> None:
        self._first = True
        output.write(b'{"form":%d,"sessions":[' % FORM)

    def add(self, part: Audited | SkippedPart) -> None:
        """Write one session with its findings; skipped parts come at the end."""
        if isinstance(part, Audited):
            comma = b"" if self._first else b",\n"
            self._first = False
            value = {**msgspec.to_builtins(part.session), "findings": part.findings}
            output.write(comma + msgspec.json.encode(value))

    def close(self, totals: Totals) -> None:
        """Write the sums."""
        prices = totals.spending.prices
        rest = {
            "findings": totals.kinds,
            "skipped": totals.skipped,
            "skipped_parts": totals.skipped_parts,
            "passed_over": totals.no_records,
            "result_tokens": totals.result_tokens,
            "carried_tokens": totals.carried_tokens,
            "tokens_exact": totals.exact,
            "replayed": totals.replayed,
            "money": totals.spending.whole,
            "models": totals.spending.models,
            "projects": totals.spending.projects,
            "days": totals.spending.days,
            "prices": {"dated": prices.dated, "source": prices.source},
            "secrets": totals.spending.ordered_secrets(),
            "habits": [_habit(totals, kind) for kind in statements.habits_of(totals)],
        }
        output.write(b"]," + msgspec.json.encode(rest)[1:] + b"\n")


def _habit(totals: Totals, kind: FindingKind) -> dict[str, object]:
    clients = sorted(totals.clients_of[kind], key=lambda name: -totals.clients_of[kind][name])
    habit = HABITS[kind]
    return {
        "kind": kind, "name": habit.name, "count": totals.kinds[kind].count,
        "carried_tokens": totals.kinds[kind].carried_tokens, "cost": totals.spending.kinds.get(kind),
        "advice": habit.advice, "setting": setting(kind, clients),
    }  # fmt: skip


_KIND_LIST = ", ".join(FINDINGS)

audit = subcommand(
    "audit",
    _audit,
    click.Argument(["paths"], nargs=-1),
    flag("--here", "Find the sessions of the current folder."),
    option("--since", "Only answers since then: 7d, 12h, 2w, or 2026-01-31.", metavar="TIME"),
    option("--until", "Only answers until then; a day counts to its end.", metavar="TIME"),
    option("--project", "Only sessions of this folder or below it, or whose folder has this name."),
    flag("--all whole", "Sessions of all time, without PATHS."),
    json_option("Print one JSON object."),
    flag("--details", "List tools, files and findings as well; with PATHS they always are."),
    option("--html page", "Write a self-contained page.", metavar="FILE"),
    option("--jsonl rows", "Write every row of the normal form, one per line.", metavar="FILE"),
    option("--parquet", "Write the normal form as Parquet files.", metavar="DIR"),
    option(
        "--fail-on",
        f"Exit with {ExitCode.FOUND} if one is found, and with {ExitCode.UNCHECKED} if a part was not "
        f"read: {_KIND_LIST}, or any; with a limit, as in repeated>20 or repeated>5%.",
        metavar="KINDS",
    ),
    flag("--annotations", "Print findings as annotations of a pull request on GitHub as well."),
    option("--compare", "Compare with an earlier audit, written with --json.", metavar="OLD"),
    option("--limit", "Findings of each kind to list.", type=click.IntRange(min=0), default=_SHOWN),
    option("--tokens", "How tokens are counted.", type=click.Choice(COUNTERS), default="estimate"),
    option("--prices", "Prices of models in place of those of the release.", metavar="FILE"),
    option("--root", "Folder whose policy decides which files are denied.", type=Folder(), metavar="DIR"),
    option("--replay", "Replay the calls in this folder, and compare the results.", metavar="ROOT"),
    option("--commit", "Replay in this commit of the folder."),
    flag("--no-secrets", "Do not search for secrets."),
    option("--workers", "Processes; 0 for one per processor.", type=click.IntRange(min=0), default=1),
    option("--engine", "Run on a cluster that sees the same paths: dask://HOST:PORT.", metavar="ADDRESS"),
    option("--resume", "Keep finished parts there, and continue from them.", metavar="DIR"),
    flag("--force", "Replace existing files."),
)
