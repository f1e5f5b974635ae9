"""What the operations of the Everruns cases are in ours that are no tools: the parts behind its tools."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from readroom.contracts.everruns.command import MEASURE, verbosity, words
from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.words import signature
from readroom.core.caller import ANONYMOUS
from readroom.core.deadline import Deadline
from readroom.core.engine.command.output import KeptText, picked
from readroom.core.outline import build, can_outline
from readroom.core.outline.languages import language_of
from readroom.core.paths import OUTPUTS, WorkPath
from readroom.core.stores.memory import MemoryStore
from readroom.core.stores.outputs import Outputs
from readroom.core.values.commands import Output, shown_bytes
from readroom.core.values.files import Item, main_items
from tests.contracts.cases import Adapter, Answer, Room, content

_STDERR = "\n--- stderr ---\n"


class EverrunsAdapter(Adapter):
    """Outlines, budgets of output, the choice of its lines, and its keeping."""

    def __init__(self) -> None:
        super().__init__("everruns")
        self._outputs: dict[str, bytes] = {}

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        match op:
            case "outline":
                return Answer(value=_outline(room, call["path"]))
            case "output_budget":
                failed = bool(call["exit_code"])
                return Answer(value=shown_bytes(verbosity(call["output"]), failed=failed))
            case "truncate_exec":
                return Answer(
                    text=_shortened(call["text"], call["max_bytes"], failed=bool(call["exit_code"]))
                )
            case "persist_output":
                return Answer(value=self._kept(call["tool_call_id"], call["raw_output"]))
        return super().answer(room, op, call, body)

    def lines(self, answer: Answer) -> list[str]:
        content: str = answer.json["content"]
        return [line.partition("|")[2] for line in content.split("\n")] if content else []

    def content(self, room: Room, path: str) -> bytes | None:
        return self._outputs.get(path) if path.startswith(OUTPUTS) else super().content(room, path)

    def _kept(self, name: str, raw: str) -> dict[str, Any]:
        """Both streams of a command with that output, kept under a name."""
        outputs = Outputs("/workspace", 1 << 20, 1 << 20)
        own = outputs.of(ANONYMOUS.owner)
        before, found, after = raw.rpartition(_STDERR)
        texts = (before, after) if found else (raw, "")
        _, keepers = own.begin(name)
        try:
            for keeper, text in zip(keepers, texts, strict=True):
                keeper.write(text.encode())
            kept = own.finish(name, keepers)
            for one in kept:
                with open(os.path.join(own.folder, os.path.basename(one.path)), "rb") as file:
                    self._outputs[one.path] = file.read()
        finally:
            outputs.close()
        return {
            "full_output": kept[0].path,
            "total_lines": _lines(texts[0]),
            "output_files": [one.path for one in kept],
        }


def _outline(room: Room, path: str) -> list[Any]:
    name = path.removeprefix("/workspace/")
    text = content(room.case.data["files"][name]).decode()
    language = language_of(name, text)
    if not can_outline(language) or language not in ("python", "rust", "javascript", "typescript", "tsx"):
        return []
    return [_item(item, str(language)) for item in main_items(build(text, str(language), Deadline()).items)]


_KINDS = {"module": "mod"}
_FUNCTIONS = {"python": "def", "rust": "fn"}


def _item(item: Item, language: str) -> list[Any]:
    function = item.kind in ("function", "method")
    kind = _FUNCTIONS.get(language, item.kind) if function else _KINDS.get(item.kind, item.kind)
    return [
        kind,
        item.name,
        signature(item, language),
        item.line,
        [_item(one, language) for one in item.members],
    ]


def _lines(text: str) -> int:
    store = MemoryStore({"a.stdout": text})
    with store.open(WorkPath("a.stdout")) as source:
        return KeptText(source, Deadline()).total_lines


def _shortened(text: str, most: int, *, failed: bool) -> str:
    store = MemoryStore({"a.stdout": text})
    with store.open(WorkPath("a.stdout")) as source:
        stream = KeptText(source, Deadline())
        rows: Sequence[Any] = picked([stream], most, MEASURE, failed=failed)[0]
        output = Output("stdout", "/.outputs/a.stdout", total_lines=stream.total_lines, lines=rows)
        output = replace(output, size_bytes=source.size)
    return words(Names(), output, kept=False, failed=failed)


ADAPTER = EverrunsAdapter()
