"""A client of language servers, over the standard streams of a child process."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self

_ANSWER_S = 180
"""Seconds for one answer: servers read the whole project at the first question."""

_CAPABILITIES = {
    "textDocument": {
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "references": {},
        "callHierarchy": {},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
    "window": {"workDoneProgress": True},
}


class Server:
    """A running language server for one folder."""

    def __init__(self, command: Sequence[str], root: Path, options: Mapping[str, Any] | None = None) -> None:
        self.root = root.resolve()
        self._command, self._options = command, options or {}
        self._answers: dict[int, Queue[Any]] = {}
        self._number = 0
        self._opened: dict[Path, str] = {}
        self.name, self.crashes = command[0], 0

    def __enter__(self) -> Self:
        self._start()
        return self

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            cwd=self.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        uri = self.root.as_uri()
        answer = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": _CAPABILITIES,
                "workspaceFolders": [{"uri": uri, "name": self.root.name}],
                "initializationOptions": self._options,
            },
        )
        info = answer.get("serverInfo") or {}
        self.name = f"{info.get('name', self._command[0])} {info.get('version', '')}".strip()
        self._send({"method": "initialized", "params": {}})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def open(self, path: Path, language: str) -> str:
        """Open a file, and return its address."""
        path = path.resolve()
        uri = path.as_uri()
        if path not in self._opened:
            self._opened[path] = language
            item = {
                "uri": uri,
                "languageId": language,
                "version": 1,
                "text": path.read_text(errors="replace"),
            }
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
        return uri

    def ask(self, method: str, parameters: Mapping[str, Any]) -> Any:
        """The result of a request; None if the server refuses it or does not answer in time."""
        self._number += 1
        answers: Queue[Any] = Queue()
        self._answers[self._number] = answers
        try:
            self._send({"id": self._number, "method": method, "params": parameters})
            return answers.get(timeout=_ANSWER_S)
        except Empty:
            return None
        except OSError:
            self._again()
            return None

    def _again(self) -> None:
        """Start a server that crashed once more, with the same files."""
        self.crashes += 1
        opened, self._opened = self._opened, {}
        self._start()
        for path, language in opened.items():
            self.open(path, language)

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _listen(self) -> None:
        out = self._process.stdout
        assert out is not None
        while header := out.readline():
            size = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
                header = out.readline()
            self._take(json.loads(out.read(size)))

    def _take(self, message: Mapping[str, Any]) -> None:
        if "method" in message and "id" in message:
            several = len(message["params"].get("items", ())) if message.get("params") else 0
            wanted = message["method"] == "workspace/configuration"
            self._send({"id": message["id"], "result": [None] * several if wanted else None})
        elif message.get("id") in self._answers:
            self._answers.pop(message["id"]).put(message.get("result"))
