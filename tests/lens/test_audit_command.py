"""`readroom audit` as it is used: from a shell, in continuous integration, on many records."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pyarrow.parquet
import pytest

from readroom.core.rows import FINDINGS
from readroom.lens import audit
from readroom.lens.audit import Options
from readroom.lens.normal_form import KINDS, SkippedPart
from readroom.lens.report import Spent, Totals
from readroom.lens.report.terminal import report
from readroom.lens.sessions import Audited
from tests.lens.ground_truth import SESSIONS, unpacked
from tests.lens.making import called, numbered, record, returned, said
from tests.suites import daily


def _run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "readroom", "audit", *arguments],
        capture_output=True, text=True, check=False, cwd=cwd, timeout=280, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("codex")
    for session in ("codex/tools", "codex/long"):
        unpacked(session, folder)
    return folder


def test_the_summary_names_clients_tools_files_and_findings(codex: Path) -> None:
    done = _run(str(codex))
    assert done.returncode == 0, done.stderr
    for word in (
        "3 sessions, 1 of them sub-agents",
        "Codex",
        "exec_command",
        "app/pricing.py",
        "secrets:",
        "repeated:",
    ):
        assert word in done.stdout
    assert "2 files skipped" in done.stdout
    assert "correct-horse" not in done.stdout


def test_what_the_summary_leaves_out_is_counted() -> None:
    totals = Totals()
    totals.clients = {f"client {number}": Spent() for number in range(9)}
    totals.tools = {f"tool {number}": Spent() for number in range(10)}
    totals.files = {f"file {number}": Spent() for number in range(1008)}
    said = report(totals, 80, 5, secrets=True).split("\n")
    assert [line for line in said if " more" in line] == [
        "Clients: client 0, client 1, client 2, client 3, client 4, client 5 and 3 more",
        "and 2 more",
        "and 1,000 more",
    ]


@daily(1, ("kinds", "code"), [("secrets", 6), ("hidden,instructions", 0), ("any", 6)])
def test_the_exit_code_says_whether_what_was_named_was_found(codex: Path, kinds: str, code: int) -> None:
    records = [str(path) for path in codex.rglob("rollout-*.jsonl")]
    assert _run(*records, "--fail-on", kinds, "--limit", "0").returncode == code


@daily(
    2,
    ("arguments", "word"),
    [
        ([".", "--fail-on", "sercets"], "sercets"),
        ([".", "--fail-on", ""], "names no kind"),
        ([".", "--fail-on", " , "], "names no kind"),
        ([".", "--fail-on", "secrets", "--no-secrets"], "contradict"),
        ([".", "--commit", "HEAD"], "--replay"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(tmp_path: Path, arguments: list[str], word: str) -> None:
    done = _run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = _run("nowhere-at-all", cwd=tmp_path)
    assert done.returncode == 4
    assert "nowhere-at-all" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_records_is_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    done = _run(str(tmp_path))
    assert done.returncode == 1
    assert "1 file skipped" in done.stdout


def test_nothing_that_is_there_is_replaced_unless_it_is_said(tmp_path: Path, codex: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("mine")
    refused = _run(str(codex), "--html", str(page))
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"readroom: --html {str(page)!r} already exists")
    assert page.read_text() == "mine"
    assert _run(str(codex), "--html", str(page), "--force").returncode == 0
    assert page.read_text().startswith("<!doctype html>")


def test_json_is_one_object_with_sessions_and_findings(codex: Path) -> None:
    found = json.loads(_run(str(codex), "--json").stdout)
    assert found["form"] == 1
    assert {one["client"] for one in found["sessions"]} == {"Codex"}
    kinds = {finding["kind"] for one in found["sessions"] for finding in one["findings"]}
    assert {"secrets", "repeated", "reread"} <= kinds <= set(FINDINGS)
    assert found["carried_tokens"] == sum(one["carried_tokens"] for one in found["sessions"])
    assert (found["passed_over"], found["skipped_parts"]) == (2, 0)


def test_rows_and_tables_hold_the_same(tmp_path: Path, codex: Path) -> None:
    """JSON Lines and Parquet are two forms of one thing."""
    rows, folder = tmp_path / "rows.jsonl", tmp_path / "tables"
    assert _run(str(codex), "--jsonl", str(rows), "--parquet", str(folder)).returncode == 0
    by_kind: dict[str, list[dict[str, object]]] = {}
    for line in rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_kind.setdefault(row.pop("row"), []).append(row)
    names = {kind.__struct_config__.tag: name for name, kind in KINDS.items()}
    for kind, found in by_kind.items():
        assert pyarrow.parquet.read_table(folder / f"{names[str(kind)]}.parquet").to_pylist() == found


def test_the_sessions_of_this_folder_are_found_where_clients_keep_them(tmp_path: Path) -> None:
    """Claude Code by the name of its folder, Codex by what each of its records says; sessions of other
    folders are not.
    """
    home, project = tmp_path / "home", tmp_path / "my.shop"
    project.mkdir()
    slug = str(project.resolve()).replace("/", "-").replace(".", "-").replace("_", "-")
    kept = home / ".claude" / "projects" / slug
    kept.mkdir(parents=True)
    entries = [called(1, "Read", {"file_path": f"{project}/a.py"}), returned(1, "1\ta"), said("x")]
    record(kept / "s.jsonl", [{**entry, "cwd": str(project.resolve())} for entry in entries])
    rollouts = home / ".codex" / "sessions" / "2026" / "01" / "01"
    rollouts.mkdir(parents=True)
    for name, folder in (("mine", str(project.resolve())), ("other", "/somewhere/else")):
        meta = {"type": "session_meta", "payload": {"id": name, "cwd": folder}}
        call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c"}
        lines = [meta, {"type": "response_item", "payload": call}]
        record(rollouts / f"rollout-{name}.jsonl", lines)
    done = _run("--here", "--json", cwd=project, HOME=str(home))
    assert {one["session"] for one in json.loads(done.stdout)["sessions"]} == {"s1", "mine"}


def test_the_sessions_of_a_folder_are_those_under_each_of_its_names(tmp_path: Path) -> None:
    """A client may know it by the link that a shell went over; an old one of Gemini's is one document."""
    home, project, link = tmp_path / "home", tmp_path / "shop", tmp_path / "by link"
    project.mkdir()
    link.symlink_to(project, target_is_directory=True)
    rollouts = home / ".codex" / "sessions"
    rollouts.mkdir(parents=True)
    for name, folder in (
        ("real", project),
        ("link", link),
        ("other", tmp_path),
        ("worktree", tmp_path / "x"),
    ):
        meta = {"type": "session_meta", "payload": {"id": name, "cwd": str(folder)}}
        call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c"}
        record(rollouts / f"rollout-{name}.jsonl", [meta, {"type": "response_item", "payload": call}])
    chats = home / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text(str(project))
    said = {"id": "1", "type": "gemini", "content": "so", "model": "g"}
    hashed = hashlib.sha256(str(project).encode()).hexdigest()
    old = {
        "sessionId": "gemini",
        "projectHash": hashed,
        "startTime": "2026-01-01T00:00:00Z",
        "messages": [said],
    }
    (chats / "session-1.json").write_text(json.dumps(old, indent=1))

    def found(shell: Path) -> set[str]:
        done = _run("--here", "--json", cwd=link, HOME=str(home), PWD=str(shell))
        return {one["session"] for one in json.loads(done.stdout)["sessions"]}

    assert found(project) == {"real", "gemini"}
    assert found(link) == {"real", "link", "gemini"}
    assert found(tmp_path) == {"real", "gemini"}


def _many(folder: Path, count: int) -> list[Path]:
    found = []
    for number in range(count):
        lines = [f"value_{number}_{line} = {line}" for line in range(60)]
        entries = [called(1, "Read", {"file_path": "/home/dev/shop/a.py"}), returned(1, numbered(lines))]
        entries += [
            called(2, "Read", {"file_path": "/home/dev/shop/a.py"}),
            returned(2, numbered(lines)),
            said("x"),
        ]
        found.append(record(folder / f"r{number:03}.jsonl", entries))
    return found


def _digest(parts: list[Audited | SkippedPart]) -> str:
    import msgspec

    rows = [row for part in parts for row in (part.rows() if isinstance(part, Audited) else (part,))]
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


_OPTIONS = Options(secrets=False)


def test_two_processes_give_the_same_as_one(tmp_path: Path) -> None:
    """Every client's records, and some that are broken, byte for byte."""
    records = [path for session in SESSIONS[:6] for path in unpacked(session, tmp_path)]
    (tmp_path / "broken.jsonl").write_bytes(records[0].read_bytes()[:5000])
    records += [tmp_path / "broken.jsonl", tmp_path / "absent.jsonl"]
    alone = list(audit.one_by_one(records, _OPTIONS))
    assert _digest(list(audit.side_by_side(records, _OPTIONS, audit.processes(2)))) == _digest(alone)


def test_a_job_that_was_stopped_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Parts that are there are not made again; a record that has changed is."""
    (tmp_path / "records").mkdir()
    records = _many(tmp_path / "records", 6)
    parts = tmp_path / "parts"
    with contextlib.closing(audit.side_by_side(records, _OPTIONS, audit.processes(1), parts)) as stopped:
        next(stopped)
    told: list[audit.Progress] = []
    again = list(audit.side_by_side(records, _OPTIONS, audit.processes(1), parts, told.append))
    assert _digest(again) == _digest(list(audit.one_by_one(records, _OPTIONS)))
    assert told[-1].done == told[-1].total == 6
    assert told[-1].reused >= 1
    records[0].write_bytes(records[1].read_bytes() + b"\n")
    told.clear()
    list(audit.side_by_side(records, _OPTIONS, audit.processes(1), parts, told.append))
    assert told[-1].reused == 5
    assert not [name for name in os.listdir(parts) if name.startswith(".part-")]


class _Dying(ProcessPoolExecutor):
    """An executor whose first worker is killed before it does anything, the first time one is made."""

    made = 0

    def __init__(self) -> None:
        super().__init__(1)
        type(self).made += 1
        if type(self).made == 1:
            with contextlib.suppress(BrokenProcessPool):
                self.submit(os._exit, 9).result()


def test_a_worker_that_dies_changes_nothing_of_the_result(tmp_path: Path) -> None:
    """What it was making is made by another."""
    records = _many(tmp_path, 5)
    _Dying.made = 0
    parts = list(audit.side_by_side(records, _OPTIONS, audit.Engine(_Dying)))
    assert _Dying.made >= 2
    assert _digest(parts) == _digest(list(audit.one_by_one(records, _OPTIONS)))


def test_several_processes_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    _many(tmp_path / "records", 8)
    one = _run(str(tmp_path / "records"), "--json", "--no-secrets")
    two = _run(
        str(tmp_path / "records"),
        "--json",
        "--no-secrets",
        "--workers",
        "2",
        "--resume",
        str(tmp_path / "done"),
    )
    assert one.stdout == two.stdout
    assert len(os.listdir(tmp_path / "done")) == 8


@contextlib.contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a real scheduler, and its process before those of its workers."""
    scheduler = folder / "scheduler.json"
    base = [sys.executable, "-W", "ignore", "-m"]
    started = [
        subprocess.Popen(
            [*base, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
             "--scheduler-file", str(scheduler)], stderr=subprocess.DEVNULL, cwd=folder,
        )
    ]  # fmt: skip
    worker = [
        *base,
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(scheduler),
        "--no-dashboard",
        "--no-nanny",
    ]
    worker += ["--nthreads", "1", "--host", "127.0.0.1", "--local-directory", str(folder)]
    try:
        started += [subprocess.Popen(worker, stderr=subprocess.DEVNULL, cwd=folder) for _ in range(workers)]
        while not scheduler.exists() or not scheduler.read_text():
            assert started[0].poll() is None
        yield json.loads(scheduler.read_text())["address"].replace("tcp://", "dask://"), started
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.whole
def test_a_cluster_gives_the_same_as_one_process_though_a_worker_dies(tmp_path: Path) -> None:
    """A real scheduler with two workers, of which one is killed half way; the parts are on a shared path."""
    (tmp_path / "records").mkdir()
    records = _many(tmp_path / "records", 40)
    with _cluster(tmp_path, 2) as (address, started):
        told: list[audit.Progress] = []

        def tell(progress: audit.Progress) -> None:
            told.append(progress)
            if progress.done == 3:
                started[1].kill()

        parts = list(
            audit.side_by_side(records, _OPTIONS, audit.cluster_at(address), tmp_path / "parts", tell)
        )
        assert _digest(parts) == _digest(list(audit.one_by_one(records, _OPTIONS)))
        assert told[-1].done == 40


@pytest.mark.whole
def test_an_audit_ends_with_its_scheduler_and_goes_on_from_what_is_done(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    records = _many(tmp_path / "records", 400)
    parts, rows, tables = tmp_path / "parts", tmp_path / "rows.jsonl", tmp_path / "tables"
    asked = [*map(str, records), "--no-secrets", "--resume", str(parts)]
    written = ["--jsonl", str(rows), "--parquet", str(tables)]
    with _cluster(tmp_path, 1) as (address, started):
        running = subprocess.Popen(
            [sys.executable, "-m", "readroom", "audit", *asked, *written, "--engine", address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not parts.exists() or len(os.listdir(parts)) < 5:
            assert running.poll() is None
        started[0].kill()
        _, told = running.communicate(timeout=100)
    assert running.returncode == 5, told
    assert re.search("no scheduler answers there|the scheduler no longer answers", told), told
    assert "--resume DIR" in told
    assert "Traceback" not in told
    assert len(told.splitlines()) <= 3, told
    assert not rows.exists()
    assert [path.name for path in tmp_path.rglob("*") if ".part" in path.name and path.parent != parts] == []
    assert list(tables.iterdir()) == []
    assert _run(*asked, *written).returncode == 0
    assert _run(*map(str, records), "--no-secrets", "--jsonl", str(tmp_path / "alone")).returncode == 0
    assert rows.read_bytes() == (tmp_path / "alone").read_bytes()


def test_the_same_names_are_exported_by_any_number_of_processes(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    _many(tmp_path / "records", 3)
    (tmp_path / "records" / "broken.jsonl").write_text("{{{")
    for workers in ("1", "0", "2"):
        done = _run(
            "records/../records", "./records/r000.jsonl", str(tmp_path / "records" / "r001.jsonl"),
            "--no-secrets", "--workers", workers, "--jsonl", f"rows{workers}", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0
    assert (tmp_path / "rows1").read_bytes() == (tmp_path / "rows0").read_bytes()
    assert (tmp_path / "rows1").read_bytes() == (tmp_path / "rows2").read_bytes()
    assert b'"record":"records/../records/r000.jsonl"' in (tmp_path / "rows1").read_bytes()


def test_an_export_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """A file has its name when it is complete, and one that it replaces is whole until then."""
    record(tmp_path / "r.jsonl", [said("x")])
    out, full = tmp_path / "out.jsonl", tmp_path / "page.html"
    out.write_text("mine")
    full.write_text("there")
    assert (
        _run(str(tmp_path / "r.jsonl"), "--jsonl", str(out), "--force", "--html", str(full / "no")).returncode
        == 2
    )
    assert out.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl", "page.html", "r.jsonl"]
    assert _run(str(tmp_path / "r.jsonl"), "--jsonl", str(out), "--force").returncode == 0
    assert json.loads(out.read_text().splitlines()[0])["row"] == "session"
    assert _run(str(tmp_path / "r.jsonl"), "--jsonl", "/dev/stdout", "--force").stdout.startswith('{"row":')


@daily(1, "address", ["tcp://127.0.0.1:1", "dask://", "dask://host:port", "dask://h:99999"])
def test_what_is_not_the_address_of_a_scheduler_is_said(tmp_path: Path, address: str) -> None:
    record(tmp_path / "r.jsonl", [said("x")])
    done = _run(str(tmp_path), "--engine", address, "--resume", str(tmp_path / "parts"))
    assert done.returncode == 2
    assert "dask://HOST:PORT" in done.stderr
