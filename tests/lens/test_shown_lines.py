"""Which lines a result showed, in the words that clients put around it and leave where they cut."""

from __future__ import annotations

from typing import Any

from readroom.lens.evidence import Evidence, Known, evidence
from readroom.lens.records.events import Called, Returned
from tests.each import each

_COMMAND = "Bash"


def _seen(tool: str, arguments: dict[str, Any], text: str, known: Known | None = None) -> Evidence:
    return evidence(Called("s", "c", tool, arguments), Returned("s", "c", text), known or Known())


def _spans(seen: Evidence) -> list[tuple[str, int, int]]:
    return [(run.file, run.first, run.last) for run in seen.runs]


_PREVIEW = (
    "<persisted-output>\nOutput too large (244.6KB). Full output saved to: /h/tool-results/x.txt\n\n"
    "Preview (first 2KB):\none\ntwo\n...\n</persisted-output>"
)
_READ = "<path>/w/.env</path>\n<type>file</type>\n<content>\n{}\n\n(End of file - total {} lines)\n</content>"
_CODEX = (
    "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n"
    "Warning: truncated output (original token count: 9)\nTotal output lines: {}\n\n{}"
)
_QWEN = (
    "Command: x\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7"
)


@each(
    ("tool", "arguments", "text", "spans", "wide", "cut"),
    [
        (_COMMAND, {"command": "cat a.log"}, _PREVIEW, [("a.log", 1, 2)], [], "client"),
        ("read", {"filePath": ".env"}, _READ.format("1: A=1\n2: B=2", 2), [(".env", 1, 2)], [], None),
        ("read", {"filePath": "a"}, _READ.format("1: x\n2: ", 2), [("a", 1, 2)], [], None),
        (
            "read",
            {"filePath": "a"},
            _READ.format("1: xx... (line truncated to 2000 chars)", 1),
            [],
            [("a", 1, 2)],
            "client",
        ),
        (
            "read_file",
            {"file_path": "a", "offset": 1, "limit": 3},
            "Showing lines 2-4 of 9 total lines.\n\n---\n\nx\ny\n",
            [("a", 2, 4)],
            [],
            "arguments",
        ),
        (
            "read_file",
            {"file_path": "a"},
            "Showing lines 1-3 of 3 total lines.\n\n---\n\nx\ny\n",
            [("a", 1, 2)],
            [],
            None,
        ),
        (
            "grep_search",
            {"pattern": "x"},
            "Found 9 matches\n---\na.py:1:x = 1\nb.py:2:x = 2\nb.py:3:x =...\n---\n[6 lines truncated] ...",
            [("a.py", 1, 1), ("b.py", 2, 2)],
            [("b.py", 3, 3)],
            "client",
        ),
        (
            "grep_search",
            {"pattern": "x"},
            'Found 100 matches for pattern "x" (results limited to 100 matches for performance):\n'
            "---\nFile: a.py\nL7: x\n---",
            [("a.py", 7, 7)],
            [],
            "client",
        ),
        (
            "exec_command",
            {"cmd": "grep -rn x ."},
            _CODEX.format(9, "./a.py:1:x\n./src/lo…99 chars truncated…ng.py:7:x\n./z.py:9:x\n"),
            [("a.py", 1, 1), ("z.py", 9, 9)],
            [],
            "client",
        ),
        (
            "exec_command",
            {"cmd": "nl -ba a.py"},
            _CODEX.format(200, "     1\tx\n     2\ty…99 chars truncated…12\tz\n   113\tz\n"),
            [("a.py", 1, 1), ("a.py", 113, 113)],
            [("a.py", 2, 1)],
            "client",
        ),
        (
            "exec_command",
            {"cmd": "cat wide.json"},
            _CODEX.format(1, "[1, 2…99 chars truncated…8, 9]\n"),
            [],
            [("wide.json", 1, 10)],
            "client",
        ),
        (
            _COMMAND,
            {"command": "nl -ba a.py | sed -n '5,6p'"},
            "     5\tx\n     6\ty\n",
            [("a.py", 5, 6)],
            [],
            None,
        ),
        (_COMMAND, {"command": "cat a.py | sed -n '5,6p'"}, "x\ny\n", [("a.py", 5, 6)], [], None),
        (
            "shell",
            {"command": "nl -ba a.py"},
            _QWEN.format("     1  x\n     2  y"),
            [("a.py", 1, 2)],
            [],
            None,
        ),
        (
            _COMMAND,
            {"command": "grep -n x a.py; exit 0"},
            "4:x\n9:x\n",
            [("a.py", 4, 4), ("a.py", 9, 9)],
            [],
            None,
        ),
    ],
)
def test_lines_are_those_that_a_client_really_showed(
    tool: str,
    arguments: dict[str, Any],
    text: str,
    spans: list[tuple[str, int, int]],
    wide: list[tuple[str, int, int]],
    cut: str | None,
) -> None:
    """Half a line at a cut is none of another number or file, and what the client says is none at all."""
    seen = _seen(tool, arguments, text)
    assert (_spans(seen), list(seen.wide), seen.cut_by) == (spans, wide, cut)


@each(
    ("tool", "arguments", "text"),
    [
        (_COMMAND, {"command": "cat a"}, ""),
        (_COMMAND, {"command": "cat a"}, "(Bash completed with no output)"),
        ("run_shell_command", {"command": "cat a"}, _QWEN.format("(empty)")),
        (
            "run_shell_command",
            {"command": "cat a"},
            "<untrusted_context>\nOutput: (empty)\n</untrusted_context>",
        ),
        ("bash", {"command": "cat a; cat b"}, "(no output)"),
        ("read_file", {"file_path": "a"}, ""),
        ("read_file", {"file_path": "a"}, "File is empty"),
        (
            "Read",
            {"file_path": "a"},
            "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>",
        ),
    ],
)
def test_an_empty_result_is_no_line(tool: str, arguments: dict[str, Any], text: str) -> None:
    assert _spans(_seen(tool, arguments, text)) == []


def test_a_client_says_where_it_keeps_the_whole() -> None:
    """The place stands in what the model got in place of the output."""
    assert _seen(_COMMAND, {"command": "x"}, _PREVIEW).kept_at == "/h/tool-results/x.txt"
