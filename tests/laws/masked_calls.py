"""Calls of every contract that look at a folder with secrets, and that guess them, right or wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from readroom.core.workspace import Workspace
from tests.contracts.cases import ROOT

Call: TypeAlias = tuple[str, dict[str, Any]]

PATTERNS = (
    "password",
    "AKIA[A-Z0-9]+",
    "[a-zA-Z0-9/+]{40}",
    "(?s)BEGIN.{200}",
    ".",
    "^.{10}",
    "[0-9]{3}",
    "U",
)
"""Patterns that match a secret, a part of one, or a sign for one."""


def reads(path: str) -> Iterator[Call]:
    """Every way to read a file of the native contract."""
    yield "read_file", {"path": path}
    yield "read_file", {"path": path, "view": "outline"}
    yield "read_file", {"path": path, "offset": 4, "limit": 2}
    yield "read_file", {"path": path, "offset": 20, "limit": 5}
    yield "read_file", {"path": path, "offset": -3}
    yield "read_file", {"path": path, "offset": 1, "limit": 1, "column": 30}
    yield "read_file", {"path": path, "offset": 9_000_000}
    yield "read_file", {"path": path, "symbol": "connect"}
    yield "read_file", {"path": path, "known_hash": "0" * 64}
    yield "read_file", {"path": path, "pages": "1-3"}


def wrong_encodings(path: str) -> Iterator[Call]:
    """Reads in an encoding that is not the file's."""
    for name in ("latin-1", "utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp437", "shift_jis", "utf-7"):
        yield "read_file", {"path": path, "encoding": name}


def searches(guesses: Iterable[str], path: str = ".") -> Iterator[Call]:
    """Searches and rankings for patterns and for guesses."""
    every = ["archives", "compressed", "binary", "hidden", "ignored"]
    for pattern in PATTERNS:
        yield "grep_files", {"pattern": pattern, "path": path, "include": every}
        yield "grep_files", {"pattern": pattern, "path": path, "output": "count"}
        yield "grep_files", {"pattern": pattern, "path": path, "before": 2, "after": 2, "limit": 20}
    yield "grep_files", {"pattern": "(?s)BEGIN.*?END", "multiline": True, "path": path}
    yield "grep_files", {"pattern": "connect", "output": "references", "path": path}
    yield "grep_files", {"pattern": "password", "symbols": True, "documents": True, "path": path}
    for query in ("how does it connect to the database", "private key deploy", "password"):
        yield "find_relevant", {"query": query, "path": path, "explain": True, "documents": True}
        yield "find_relevant", {"query": query, "path": path, "output": "outline", "include": every}
    for guess in guesses:
        for output in ("content", "files", "count"):
            yield "grep_files", {"pattern": guess, "fixed": True, "output": output, "path": path}
        yield "grep_files", {"pattern": guess, "fixed": True, "ignore_case": True, "include": every}
        yield "grep_files", {"pattern": f"{guess[:3]}[{guess[3]}].*", "path": path}
        for output in ("passages", "files"):
            yield "find_relevant", {"query": guess, "output": output, "include": every, "documents": True}
        yield "find_relevant", {"query": f"password {guess}", "path": path, "explain": True}
        yield "grep_files", {"pattern": guess, "output": "references"}
        yield "read_file", {"path": guess}
        yield "read_file", {"path": "src/app.py", "symbol": guess}
        yield "list_directory", {"glob": f"*{guess}*"}


def looks(paths: Iterable[str], guesses: Iterable[str]) -> Iterator[Call]:
    """The calls of the native contract that change nothing."""
    for path in paths:
        yield from reads(path)
    for path in ("conf.yaml", "wide.ini", "latin.ini", "sjis.ini", "unmarked.ini"):
        yield from wrong_encodings(path)
    yield from searches(guesses)
    yield "list_directory", {"path": ".", "depth": 4}
    yield "list_directory", {"path": "files.zip", "depth": 4}
    yield "read_file", {"path": "conf.yml"}
    yield "read_file", {"path": "src/ap.py"}
    yield "read_file", {"path": "src/app.py", "symbol": "conect"}


def guessed_changes(path: str, line: str, secret: str, content_hash: str) -> Iterator[Call]:
    """Changes of the native contract by one who guesses a line with a secret; none may be made."""
    for old in (line, secret, secret[: len(secret) // 2], line[:-2]):
        edit = {"old_text": old, "new_text": "x"}
        known = {"path": path, "expected_hash": content_hash}
        yield "edit_file", {**known, "edits": [edit]}
        yield "edit_file", {**known, "edits": [{**edit, "replace_all": True}]}
        yield "edit_file", {**known, "edits": [edit], "dry_run": True}
        yield "edit_file", {"path": path, "edits": [edit]}
    edit = {"old_text": secret, "new_text": secret}
    yield "edit_file", {"path": path, "expected_hash": content_hash, "edits": [edit]}
    for mark in ("-", " "):
        new = "" if mark == "-" else "+more\n"
        hunk = f"@@ -1,3 +1,3 @@\n name: service\n{mark}{line}\n{new}"
        yield "apply_patch", {"patch": f"--- a/{path}\n+++ b/{path}\n{hunk}"}
        begin = f"*** Begin Patch\n*** Update File: {path}\n@@\n"
        yield "apply_patch", {"patch": f"{begin}{mark}{line}\n{new}*** End Patch\n"}


def of_contract(contract: str, paths: Iterable[str], guesses: Iterable[str]) -> Iterator[Call]:
    """The calls of another contract: all its tools that read, list and search, and edits with guesses."""
    for path in paths:
        at = f"{ROOT}/{path}"
        yield from _READS[contract](at)
    for guess in guesses:
        yield from _GUESSES[contract](f"{ROOT}/conf.yaml", guess)


def _everruns(at: str) -> Iterator[Call]:
    yield "read_file", {"path": at}
    yield "read_file", {"path": at, "offset": 3, "limit": 4}
    yield "read_file", {"path": at, "column": 40}
    yield "read_many_files", {"paths": [at, f"{ROOT}/conf.yaml"]}
    yield "stat_file", {"path": at}
    yield "list_directory", {"path": ROOT}
    yield "grep_files", {"pattern": "password", "path": at, "before_context": 2, "after_context": 2}


def _everruns_guess(at: str, guess: str) -> Iterator[Call]:
    yield "grep_files", {"pattern": guess}
    yield "grep_files", {"pattern": guess, "path_pattern": "*.yaml"}
    edit = {"old_text": guess, "new_text": "x"}
    yield "edit_file", {"path": at, "expected_hash": "0" * 64, "edits": [edit]}
    yield "read_file", {"path": f"{ROOT}/{guess}"}


def _kilo(at: str) -> Iterator[Call]:
    yield "read_file", {"path": at}
    yield "read_file", {"path": at, "start_line": 3, "end_line": 9, "auto_truncate": True}
    yield "read_file", {"path": at, "start_line": 2, "column": 20}


def _kilo_guess(at: str, guess: str) -> Iterator[Call]:
    yield "read_file", {"path": f"{ROOT}/{guess}"}


def _rnd(at: str) -> Iterator[Call]:
    yield "read", {"path": at}
    yield "read", {"path": at, "offset": 3, "limit": 4}


def _rnd_guess(at: str, guess: str) -> Iterator[Call]:
    yield "read", {"path": f"{ROOT}/{guess}"}


def _coder(at: str) -> Iterator[Call]:
    yield "read_file", {"path": at}
    yield "read_file", {"path": at, "offset": 3, "limit": 4}
    yield "coder_workspace_read_file", {"path": at, "workspace": "w"}
    yield "coder_workspace_read_file", {"path": at, "workspace": "w", "offset": 100, "limit": 300}


def _coder_guess(at: str, guess: str) -> Iterator[Call]:
    edit = {"old_text": guess, "new_text": "x"}
    yield "edit_files", {"edits": [{"path": at, **edit}]}
    yield "coder_workspace_edit_files", {"workspace": "w", "files": [{"path": at, "edits": [edit]}]}
    edit = {"old_text": f"password: {guess}\n", "new_text": "x"}
    yield "edit_files", {"edits": [{"path": at, **edit}]}


def _inspect(at: str) -> Iterator[Call]:
    yield "read_file", {"file_path": at}
    yield "files", {"params": {"command": "read", "file_path": at, "offset": 2, "limit": 5}}
    yield "files", {"params": {"command": "ls"}}


def _inspect_guess(at: str, guess: str) -> Iterator[Call]:
    edit = {"command": "edit", "file_path": at, "old_string": guess, "new_string": "x"}
    yield "files", {"params": edit}
    yield "files", {"params": {**edit, "dry_run": True, "replace_all": True}}
    yield "files", {"params": {"command": "read", "file_path": f"{ROOT}/{guess}"}}


def _opencode(at: str) -> Iterator[Call]:
    yield "read", {"filePath": at}
    yield "read", {"filePath": at, "offset": 3, "limit": 4}
    yield "glob", {"pattern": "**/*"}
    yield "grep", {"pattern": "password", "path": at}
    yield "grep", {"pattern": "[A-Z0-9]{8}"}


def _opencode_guess(at: str, guess: str) -> Iterator[Call]:
    yield "grep", {"pattern": guess}
    yield "glob", {"pattern": f"*{guess}*"}
    edit = {"filePath": at, "oldString": guess, "newString": "x"}
    yield "read", {"filePath": at}
    yield "edit", edit
    yield "edit", {**edit, "replaceAll": True}
    yield "edit", {**edit, "oldString": f"password:   {guess}"}
    patch = f"*** Begin Patch\n*** Update File: {at}\n@@\n-password: {guess}\n+x\n*** End Patch\n"
    yield "apply_patch", {"patchText": patch}


def _editor(at: str) -> Iterator[Call]:
    tool = "str_replace_based_edit_tool"
    yield tool, {"command": "view", "path": at}
    yield tool, {"command": "view", "path": at, "view_range": [2, 9]}
    yield tool, {"command": "view", "path": ROOT}


def _editor_guess(at: str, guess: str) -> Iterator[Call]:
    tool = "str_replace_based_edit_tool"
    yield tool, {"command": "str_replace", "path": at, "old_str": guess, "new_str": "x"}
    yield tool, {"command": "str_replace", "path": at, "old_str": f"password: {guess}", "new_str": "x"}
    yield tool, {"command": "view", "path": f"{ROOT}/{guess}"}
    patch = f"*** Begin Patch\n*** Update File: {at}\n@@\n-password: {guess}\n+x\n*** End Patch\n"
    yield "apply_patch", {"input": patch}


_READS = {
    "everruns": _everruns, "kilo": _kilo, "rnd": _rnd, "coder": _coder, "inspect_agents": _inspect,
    "opencode": _opencode, "text_editor": _editor,
}  # fmt: skip
_GUESSES = {
    "everruns": _everruns_guess, "kilo": _kilo_guess, "rnd": _rnd_guess, "coder": _coder_guess,
    "inspect_agents": _inspect_guess, "opencode": _opencode_guess, "text_editor": _editor_guess,
}  # fmt: skip

CONTRACTS = tuple(_READS)
"""The contracts beside our own."""


def followed(workspace: Workspace, contract: str, call: Call, most: int) -> Iterator[tuple[Call, Any]]:
    """The reply to a call, to those that it names, and to those that go on, up to so many."""
    waiting, seen = [call], set[str]()
    while waiting and most:
        tool, arguments = waiting.pop(0)
        key = json.dumps([tool, arguments], sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        most -= 1
        reply = workspace.call(tool, arguments, contract_name=contract)
        yield (tool, arguments), reply
        waiting += [(one["tool"], one["arguments"]) for one in named(reply.facts)]


def named(facts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The calls that a reply names."""
    error: Any = facts.get("error")
    found = [error.get("next")] if error else [facts.get("next")]
    found += [item.get("call") for item in facts.get("omitted") or ()]
    yield from (one for one in found if isinstance(one, Mapping) and "tool" in one)
