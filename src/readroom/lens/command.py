"""audit: lines that agents read, their cost, and failures, from the records of their clients."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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
from readroom.core.errors import BadValue, UsageError
from readroom.core.quoting import joined, plain, quote
from readroom.core.rows import FINDINGS
from readroom.core.session.meter import COUNTERS
from readroom.lens import records
from readroom.lens.audit import Engine, Options, Progress, cluster_at, one_by_one, processes, side_by_side
from readroom.lens.copies import without_copies
from readroom.lens.findings import secrets
from readroom.lens.normal_form import FORM, JsonLines, Parquet, Sink, SkippedPart, counted
from readroom.lens.report import Totals, html
from readroom.lens.report import terminal as words
from readroom.lens.sessions import Audited

_SHOWN = 5
"""Findings of each kind on a terminal without --limit."""


def _audit(
    paths: tuple[str, ...],
    here: bool,
    as_json: bool,
    page: str | None,
    rows: str | None,
    parquet: str | None,
    fail_on: str | None,
    limit: int,
    tokens: str,
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

    PATHS are session records of clients, or folders of them; --here finds the records of the current folder.
    """
    wanted = _kinds(fail_on)
    if no_secrets and "secrets" in wanted:
        raise UsageError("--no-secrets and --fail-on secrets contradict each other", "Leave one of them out")
    with_secrets = not no_secrets and (secrets.installed() or "secrets" in wanted)
    if commit is not None and replay is None:
        raise UsageError("--commit needs --replay", "Give the folder with --replay")
    clients = config.variables(*records.VARIABLES)
    folders = records.names_of(Path("."), clients) if here else ()
    places = records.of_folder(folders, Path.home(), clients) if here else []
    files = list(records.records([*_named(paths, here), *places]))
    totals = Totals()
    with ExitStack() as stack:
        again = _replayed_in(stack, replay, commit)
        options = Options(tokens, root, with_secrets, folders, again)
        sinks = _sinks(stack, rows, parquet, force)
        out = _JsonObject() if as_json else None
        for part in without_copies(_parts(files, options, _engine(engine, workers, resume), resume)):
            totals.add(part)
            for sink in sinks:
                for row in part.rows() if isinstance(part, Audited) else (part,):
                    sink.add(row)
            if out is not None:
                out.add(part)
        if page is not None:
            with _new(page, force, "--html") as stream:
                stream.writelines(html.page(totals, with_secrets))
    if here and not totals.sessions:
        looked = ", ".join(str(place) for place in records.places_of(folders, Path.home(), clients))
        output.complain(f"No sessions of this folder found in {looked}.")
    if out is not None:
        out.close(totals)
    elif totals.sessions or paths:
        text = words.summary(totals, limit, with_secrets)
        output.write((text + "\n").encode("utf-8", "backslashreplace"))
    return _ended(totals, wanted)


def _replayed_in(stack: ExitStack, replay: str | None, commit: str | None) -> str | None:
    if replay is None:
        return None
    from readroom.lens.replay.folder import folder_at

    folder = stack.enter_context(folder_at(Path(replay), commit))
    if folder.absent:
        absent = "These submodules are missing at that commit, so their files count as gone"
        output.complain(f"{absent}: {joined(folder.absent)}")
    return str(folder.path)


def _ended(totals: Totals, wanted: list[str]) -> ExitCode:
    hit = [kind for kind in totals.ordered_kinds() if kind in wanted]
    if hit:
        output.complain(f"--fail-on found: {', '.join(hit)}")
        return ExitCode.FOUND
    if wanted and (unread := _unread(totals)):
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


def _kinds(fail_on: str | None) -> list[str]:
    named = [name.strip() for name in (fail_on or "").split(",") if name.strip()]
    unknown = [name for name in named if name not in FINDINGS and name != "any"]
    advice = f"Use some of {', '.join(FINDINGS)}, or any."
    if unknown:
        raise BadValue("--fail-on", ", ".join(unknown), "is not a kind of finding", advice)
    if fail_on is not None and not named:  # an empty variable of a pipeline must not pass for a check
        raise BadValue("--fail-on", fail_on, "names no kind of finding", advice)
    return list(FINDINGS) if "any" in named else named


def _named(paths: tuple[str, ...], here: bool) -> list[Path]:
    if not paths and not here:
        usual = "~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp, ~/.qwen/projects"
        advice = f"Give session records or folders of them ({usual}), or --here for those of this folder."
        raise UsageError("Nothing to audit", advice)
    absent = [path for path in paths if not os.path.exists(path)]
    if absent:
        raise UsageError(f"{quote(absent[0])} does not exist", "Check the path, or use --here.")
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
        raise BadValue("output", path, "already exists", "Choose a new file, or use --force.") from None
    except OSError as error:
        raise BadValue(
            "output", path, f"cannot be written: {error.strerror}", "Choose another file."
        ) from None
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
        rest = {
            "findings": totals.kinds,
            "skipped": totals.skipped,
            "skipped_parts": totals.skipped_parts,
            "passed_over": totals.no_records,
            "result_tokens": totals.result_tokens,
            "carried_tokens": totals.carried_tokens,
            "tokens_exact": totals.exact,
            "replayed": totals.replayed,
        }
        output.write(b"]," + msgspec.json.encode(rest)[1:] + b"\n")


_KIND_LIST = ", ".join(FINDINGS)

audit = subcommand(
    "audit",
    _audit,
    click.Argument(["paths"], nargs=-1),
    flag("--here", "Find the sessions of the current folder."),
    json_option("Print one JSON object."),
    option("--html page", "Write a self-contained page.", metavar="FILE"),
    option("--jsonl rows", "Write every row of the normal form, one per line.", metavar="FILE"),
    option("--parquet", "Write the normal form as Parquet files.", metavar="DIR"),
    option(
        "--fail-on",
        f"Exit with {ExitCode.FOUND} if one is found, and with {ExitCode.UNCHECKED} if a part was not "
        f"read: {_KIND_LIST}, or any.",
        metavar="KINDS",
    ),
    option("--limit", "Findings of each kind to list.", type=click.IntRange(min=0), default=_SHOWN),
    option("--tokens", "How tokens are counted.", type=click.Choice(COUNTERS), default="estimate"),
    option("--root", "Folder whose policy decides which files are denied.", type=Folder(), metavar="DIR"),
    option("--replay", "Replay the calls in this folder, and compare the results.", metavar="ROOT"),
    option("--commit", "Replay in this commit of the folder."),
    flag("--no-secrets", "Do not search for secrets."),
    option("--workers", "Processes; 0 for one per processor.", type=click.IntRange(min=0), default=1),
    option("--engine", "Run on a cluster that sees the same paths: dask://HOST:PORT.", metavar="ADDRESS"),
    option("--resume", "Keep finished parts there, and continue from them.", metavar="DIR"),
    flag("--force", "Replace existing files."),
)
