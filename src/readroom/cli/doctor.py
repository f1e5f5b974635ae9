"""doctor: what of readroom works on this machine, and what to do about the rest."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from msgspec import Struct, to_builtins

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.near import did_you_mean
from readroom.cli.options import json_option, option, place_options, roots_argument, subcommand
from readroom.cli.remote.address import Address, is_address, parsed
from readroom.cli.roots import one_folder, roots_of
from readroom.core.errors import BadValue, ReadroomError
from readroom.core.extras import OF_GRAMMARS, install, one_file, typed
from readroom.core.limits import HTTP_PORT
from readroom.core.release import VERSION
from readroom.core.session.journal import Observing
from readroom.core.stores.bucket.address import absolute
from readroom.core.stores.promises import OPENING, Promises, differing

State: TypeAlias = Literal["ok", "note", "problem"]
"""Whether something works; a note is for optional things."""

_MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


class Diagnosis(Struct, frozen=True):
    """One check, and advice if it failed."""

    what: str
    state: State
    found: str
    remedy: str = ""


def _doctor(
    folder: str | None, root: str | None, client: str | None, port: int, config: str | None, as_json: bool
) -> ExitCode:
    """Check what works on this machine, and how to fix the rest.

    An address of another machine is tried, and that machine checks itself.  The exit code is 0 unless there
    is a problem; notes are not problems.
    """
    at = one_folder(folder, root) or "."
    found = elsewhere(parsed(at)) if is_address(at) else diagnoses(at, client, port, config)
    listed = list(found)
    if as_json:
        output.write((json.dumps([to_builtins(diagnosis) for diagnosis in listed], indent=2) + "\n").encode())
    else:
        output.show("\n".join(_line(diagnosis) for diagnosis in listed))
    return ExitCode.FAILED if any(diagnosis.state == "problem" for diagnosis in listed) else ExitCode.OK


def _line(diagnosis: Diagnosis) -> str:
    text = f"{_MARKS[diagnosis.state]}  {diagnosis.what}: {diagnosis.found}"
    return f"{text}\n         {diagnosis.remedy}" if diagnosis.remedy else text


def diagnoses(folder: str, client: str | None, port: int, file: str | None = None) -> Iterator[Diagnosis]:
    """Everything that is looked at, in this order."""
    yield from _self()
    first, *others = roots_of(folder)
    yield from _folder(first, file)
    yield from _roots(first, others, file)
    for look in (_commands, _secrets, _search, _outlines, _extras, _state):
        yield from look()
    yield from _client(client)
    yield from _server(port)


def elsewhere(address: Address) -> Iterator[Diagnosis]:
    """The way to another machine, and what it says about itself."""
    from readroom.cli.remote.look import look, told

    program = shutil.which(address.scheme)
    if program is not None:
        yield Diagnosis(address.scheme, "ok", program)
    try:
        seen = look(address)
    except ReadroomError as error:
        yield Diagnosis("address", "problem", error.message, error.advice or "")
        return
    yield Diagnosis("address", "ok", f"{address} answers in {seen.seconds:.1f} s")
    if seen.other_version:
        yield Diagnosis("version", "note", seen.other_version, "Install the same one on both.")
    yield Diagnosis("workspace", "ok", f"is on {address.machine}; there, {OPENING[seen.opening]}")
    for found in told(address):
        yield Diagnosis(**{**found, "what": f"there: {found['what']}"})


def _self() -> Iterator[Diagnosis]:
    python = f"Python {platform.python_version()}"
    yield Diagnosis("readroom", "ok", f"{VERSION}, {python}, {platform.system()} {platform.machine()}")
    where = shutil.which("readroom")
    if where is None:
        folder = os.path.dirname(one_file() or sys.executable)
        remedy = f'Put its folder on the PATH: export PATH="{folder}:$PATH"'
        yield Diagnosis("command", "note", "readroom is not on the PATH", remedy)
    else:
        yield Diagnosis("command", "ok", where)


def _folder(folder: str, file: str | None) -> Iterator[Diagnosis]:
    from readroom.core import config

    try:
        store, options = config.open_roots(folder)
        try:
            settings = config.loaded(store, options, file)
            promises = store.promises
        finally:
            store.close()
    except ReadroomError as error:
        yield Diagnosis("folder", "problem", error.message, error.advice or "")
        return
    yield from _promises(promises)
    files = ", ".join(settings.files) or "none; `readroom init` writes a commented one"
    place = absolute(str(options[0].path) if options else folder)
    rights = ", read-only" if options and options[0].read_only else ""
    yield Diagnosis("settings", "ok", f"for {place}{rights}: {files}")
    yield from _telemetry(settings.otel)


def _telemetry(observing: Observing | None) -> Iterator[Diagnosis]:
    """The collector of spans and metrics, tried out."""
    if observing is None:
        yield Diagnosis("otel", "ok", "off; [otel] endpoint or OTEL_EXPORTER_OTLP_ENDPOINT turns it on")
        return
    works, found, remedy = observing.tried()
    yield Diagnosis("otel", "ok" if works else "note", found, typed(remedy))


def _promises(promises: Promises) -> Iterator[Diagnosis]:
    """The promises of the folder: who keeps paths inside, and who keeps the others."""
    from readroom.core.stores.promises import told

    held = f"{promises.confinement}: {OPENING[promises.opening]}"
    yield Diagnosis("confinement", "ok" if promises.confinement == "kernel" else "note", held)
    yield Diagnosis("promises", "note" if differing(promises) else "ok", told(promises))


def _roots(first: str, others: Sequence[str], file: str | None) -> Iterator[Diagnosis]:
    """Each folder of a workspace with several, or why they cannot be served together."""
    from readroom.core import config

    try:
        further = config.further_roots(file)
        if not (others or further):
            return
        store, options = config.open_roots(first, [*others, *further])
        try:
            facts = config.folders_of(store, config.loaded(store, options, file))
        finally:
            store.close()
    except ReadroomError as error:
        yield Diagnosis("folders", "problem", error.message, error.advice or "")
        return
    for one in facts:
        rights = "read-only" if one.read_only else "can be changed"
        said = f"{one.path or one.at}, {rights}, confinement: {one.confinement}"
        differs = differing(one.promises)
        more = f" ({differs})" if differs else ""
        yield Diagnosis(f"folder {one.name}", "note" if differs else "ok", said + more)


def _commands() -> Iterator[Diagnosis]:
    from readroom.core import sandbox
    from readroom.core.errors import NotConfined

    try:
        chosen = sandbox.chosen("any")
    except NotConfined as error:
        yield Diagnosis("commands", "note", f"cannot be confined here: {error.message}", error.advice or "")
        return
    other: Literal["bwrap", "landlock"] = "landlock" if chosen == "bwrap" else "bwrap"
    reason = sandbox.available(other)
    beside = f"or by {other}" if not reason else f"not {other} ({reason})"
    yield Diagnosis("commands", "ok", f"can be confined by {chosen}, {beside}; they are off unless allowed")


def _secrets() -> Iterator[Diagnosis]:
    from readroom.core.secrets.judge import require

    try:
        require()
    except ReadroomError as error:
        remedy = f"{typed(install('audit'))} installs it"
        yield Diagnosis("secrets", "note", f"cannot be masked here: {error.message}", remedy)
        return
    yield Diagnosis("secrets", "ok", "can be masked; they are shown unless that is asked for")


def _search() -> Iterator[Diagnosis]:
    from readroom.core.search.ripgrep import program

    try:
        yield Diagnosis("search", "ok", f"rg is {program()}")
    except ReadroomError as error:
        yield Diagnosis("search", "problem", error.message, error.advice or "")


def _outlines() -> Iterator[Diagnosis]:
    from readroom.core.outline.grammars import GRAMMARS, grammar_of

    missing = sorted(name for name in GRAMMARS if find_spec(grammar_of(name).module) is None)
    if missing:
        state = f"{len(GRAMMARS) - len(missing)} languages; no grammar for {', '.join(missing)}"
        yield Diagnosis("outlines", "note", state, f"{typed(install(OF_GRAMMARS))} installs the rest")
        return
    yield Diagnosis("outlines", "ok", f"{len(GRAMMARS)} languages")


def _extras() -> Iterator[Diagnosis]:
    have: list[str] = []
    lack: list[str] = []
    for extra, packages in _packages().items():
        if extra == "all":
            continue  # nothing of its own
        (have if all(map(_is_there, packages)) else lack).append(extra)
    if have:
        yield Diagnosis("extras", "ok", f"installed: {', '.join(have)}")
    if lack:
        remedy = f"{typed(install(','.join(lack)))} installs all of these, or name those you need"
        yield Diagnosis("extras", "note", f"not installed: {', '.join(lack)}", remedy)


def _packages() -> dict[str, list[str]]:
    """The packages of each extra, from the installed metadata."""
    by_extra: dict[str, list[str]] = {}
    for line in requires("readroom") or ():
        requirement, _, marker = line.partition(";")
        _, is_extra, extra = marker.partition("extra ==")
        if is_extra:
            name = requirement.strip()
            stop = next((at for at, char in enumerate(name) if char in "[<>=!~ ("), len(name))
            by_extra.setdefault(extra.strip().strip("'\""), []).append(name[:stop])
    return dict(sorted(by_extra.items()))


def _is_there(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _state() -> Iterator[Diagnosis]:
    from readroom.core import config

    if not config.has_state():
        remedy = "Set HOME or XDG_STATE_HOME to a folder that this account can write to."
        yield Diagnosis("state", "problem", "there is no folder for tokens and the ledger", remedy)
        return
    folder = os.path.dirname(config.token_file())
    place = folder
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if os.access(place, os.W_OK | os.X_OK):
        yield Diagnosis("state", "ok", f"tokens and the ledger are kept in {folder}")
    else:
        remedy = "Make it writable for this account, or set XDG_STATE_HOME to another folder."
        yield Diagnosis("state", "problem", f"{place} cannot be written to", remedy)


def _client(name: str | None) -> Iterator[Diagnosis]:
    from readroom.cli.connect.clients import CLIENTS, longest_reply
    from readroom.mcp.server import known

    if name is None:
        return
    client = CLIENTS.get(name)
    if client is None:
        advice = f"{did_you_mean(name, CLIENTS)}They are: {', '.join(CLIENTS)}."
        raise BadValue("client", name, "is not a known client", advice)
    cap = known(client.wire)
    lines = "" if cap is None or cap.lines is None else f"; at most {cap.lines:,} lines"
    yield Diagnosis(client.title, "ok", f"{longest_reply(None if cap is None else cap.chars)}{lines}")
    program = shutil.which(client.check[0]) if client.check else None
    if client.check and program is None:
        yield Diagnosis(client.title, "note", f"{client.check[0]} is not on the PATH")


def _server(port: int) -> Iterator[Diagnosis]:
    """Who can reach a server on the usual port, tested like any client."""
    import httpx2

    base = f"http://127.0.0.1:{port}"
    try:
        with httpx2.Client(timeout=5, trust_env=False) as http:
            answer = http.post(f"{base}/v1/native/list_directory", json={})
    except httpx2.HTTPError:
        yield Diagnosis("server", "ok", f"nothing answers on port {port}; `readroom serve` starts one")
        return
    if not _is_ours(answer):
        yield Diagnosis("server", "note", f"another program answers on port {port}", "Serve with --port 0.")
    elif answer.status_code == 401:
        yield Diagnosis("server", "ok", f"on port {port} requires a token")
    else:
        remedy = 'Start it without --open, and without auth = "open".'
        problem = f"on port {port} answers every account on this machine without a token"
        yield Diagnosis("server", "problem", problem, remedy)


def _is_ours(answer: Any) -> bool:
    """Whether readroom gave it: its refusals have a code, its replies facts."""
    try:
        body = answer.json()
    except ValueError:
        return False
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(body, dict) and ("_meta" in body or (isinstance(error, dict) and "code" in error))


doctor = subcommand(
    "doctor",
    _doctor,
    roots_argument("[DIR | ADDRESS] [NAME=DIR[:ro]]...", "The folder; others with their names."),
    option("--client", "Check this client, one of those that `connect` lists.", metavar="CLIENT"),
    option("--port", "Port of the server to check.", type=int, default=HTTP_PORT),
    *place_options(),
    json_option("Print one JSON list."),
)
