"""Edits of files in many encodings and with many line ends: what else of a file changes."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.editors import EDITORS, Answers, Job
from benchmarks.measure import Record
from benchmarks.peers import PEERS

ENCODINGS = {
    "UTF-8": ("utf-8", b"", "naïve café 日本 😀"),
    "UTF-8 with BOM": ("utf-8", b"\xef\xbb\xbf", "naïve café 日本 😀"),
    "UTF-16 LE": ("utf-16-le", b"\xff\xfe", "naïve café 日本 😀"),
    "UTF-16 BE": ("utf-16-be", b"\xfe\xff", "naïve café 日本 😀"),
    "Latin-1": ("latin-1", b"", "Größe naïve façade Å"),
    "cp1252": ("cp1252", b"", "„Größe“ – 5 € naïve"),
    "Shift-JIS": ("shift_jis", b"", "日本語のテキスト表ソ能"),
    "GBK": ("gbk", b"", "中文文本，编码测试。"),
}
"""By name: codec, mark, and words; of Shift-JIS those whose second byte is a backslash."""

LINE_ENDS = {"LF": ("\n",), "CRLF": ("\r\n",), "mixed": ("\n", "\r\n", "\r\n")}

EDITS = {
    "an ASCII word": ("needle", "thread"),
    "a line more": ("third needle line\n", "third needle line\nand one more\n"),
    "a line away": ("third needle line\n", ""),
    "a word of its own letters": ("{word}: here", "{word}: there"),
}

OUTCOMES = ("exact", "damaged", "wrong inside", "refused", "silent")
"""Exactly as asked; bytes outside the edit changed; only the new text is not as asked, such as another line
end; refused with nothing changed; success told and nothing done, or a failure told and something done."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file, one edit of it, and the only bytes that may come of it."""

    form: str
    edit: str
    job: Job
    before: bytes
    old: bytes
    after: bytes
    new: bytes

    @property
    def data(self) -> bytes:
        return self.before + self.old + self.after

    @property
    def expected(self) -> bytes:
        return self.before + self.new + self.after


def run(record: Record) -> None:
    """Each of 192 edits on a file of its own; an editor is told the old and the new text with LF, and nothing
    else unless its name says so.

    Unfair to peers that promise UTF-8 only: for them a refusal is the right answer, and is counted as that.
    Unfair to mcp-text-editor, which replaces lines and not texts: it is told which, and a line is taken away
    by sending nothing in its place, though it has a tool for that.
    """
    sheets = table()
    rows, details = [], []
    for name, (editor, program) in EDITORS.items():
        if program is not None and not program.exists():
            record.say(f"- {name}: not installed (`python -m benchmarks.peers`)")
            continue
        with TemporaryDirectory(prefix="readroom-integrity-") as folder:
            for sheet in sheets:
                Path(folder, sheet.job.path).write_bytes(sheet.data)
            answers = editor(Path(folder), [sheet.job for sheet in sheets])
            results = [Path(folder, sheet.job.path).read_bytes() for sheet in sheets]
        rows.append([name, *_row(record, name, sheets, answers, results)])
        details.append([name, *_by_encoding(sheets, answers, results)])
    record.say(*_versions())
    record.table(["editor", *OUTCOMES, "bytes changed outside"], rows)
    record.say("Of the edits in each encoding: damaged or wrong / refused / exact.")
    record.table(["editor", *ENCODINGS], details)


def _row(
    record: Record, name: str, sheets: Sequence[Sheet], answers: Answers, results: Sequence[bytes]
) -> list[str]:
    seen: Counter[str] = Counter()
    outside = 0
    for sheet, answer, result in zip(sheets, answers, results, strict=True):
        damage, came = damaged(sheet, result), outcome(sheet, answer, result)
        seen[came] += 1
        outside += damage
        record.add("integrity", f"{sheet.form}, {sheet.edit}: {came}", name, [damage], "count")
    return [*(str(seen[one]) for one in OUTCOMES), str(outside)]


def _by_encoding(sheets: Sequence[Sheet], answers: Answers, results: Sequence[bytes]) -> Iterator[str]:
    for encoding in ENCODINGS:
        seen = Counter(
            outcome(sheet, answer, result)
            for sheet, answer, result in zip(sheets, answers, results, strict=True)
            if sheet.form.startswith(f"{encoding},")
        )
        bad = seen["damaged"] + seen["wrong inside"] + seen["silent"]
        yield f"{bad} / {seen['refused']} / {seen['exact']}"


def outcome(sheet: Sheet, answer: str | None, result: bytes) -> str:
    """One of OUTCOMES."""
    if answer is not None:
        return "refused" if result == sheet.data else "silent"
    if result == sheet.expected:
        return "exact"
    if damaged(sheet, result):
        return "damaged"
    return "silent" if result == sheet.data else "wrong inside"


def damaged(sheet: Sheet, result: bytes) -> int:
    """Bytes outside the edit that were changed, lost or added."""
    if result == sheet.data or (
        len(result) >= len(sheet.before) + len(sheet.after)
        and result.startswith(sheet.before)
        and result.endswith(sheet.after)
    ):
        return 0
    first, last = len(sheet.before), len(sheet.before) + len(sheet.old)
    count = 0
    matcher = SequenceMatcher(None, sheet.data, result, autojunk=False)
    for tag, begin, end, other, other_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        inside = max(0, min(end, last) - max(begin, first))
        touches = begin <= last and end >= first
        count += end - begin - inside
        count += 0 if touches else max(0, (other_end - other) - (end - begin))
    return count


def table() -> list[Sheet]:
    """All files and their edits."""
    return list(_sheets())


def _sheets() -> Iterator[Sheet]:
    for encoding, (codec, mark, word) in ENCODINGS.items():
        for ends in LINE_ENDS:
            for final in ("ended", "open"):
                for number, edit in enumerate(EDITS):
                    form = f"{encoding}, {ends}, {final}"
                    name = f"{codec}{len(mark)}-{ends}-{final}-{number}.txt"
                    yield _sheet(form, edit, name, codec, mark, word, LINE_ENDS[ends], final == "ended")


def _sheet(
    form: str, edit: str, name: str, codec: str, mark: bytes, word: str, ends: Sequence[str], ended: bool
) -> Sheet:
    bare = [f"first line {word}", "second line", "third needle line", f"{word}: here"]
    bare += [f"{number} {word} {number}" for number in range(12)] + ["the end"]
    lines = [line + ends[at % len(ends)] for at, line in enumerate(bare)]
    if not ended:
        lines[-1] = bare[-1]
    old, new = (text.format(word=word) for text in EDITS[edit])
    at = next(at for at, line in enumerate(bare) if old.removesuffix("\n") in line)
    end = lines[at][len(bare[at]) :]
    text = "".join(lines)
    place = text.index(old.replace("\n", end), len("".join(lines[:at])))
    shown = [part.replace("\n", end).encode(codec) for part in (old, new)]
    before = mark + text[:place].encode(codec)
    after = text[place + len(old.replace("\n", end)) :].encode(codec)
    return Sheet(form, edit, Job(name, old, new, codec, at + 1, at + 1), before, shown[0], after, shown[1])


def _versions() -> Iterator[str]:
    for package in ("@modelcontextprotocol/server-filesystem",):
        file = PEERS / "node_modules" / package / "package.json"
        if file.exists():
            yield f"- {package} {json.loads(file.read_text(encoding='utf-8'))['version']}"
    for venv, package in (
        ("venv", "mcp-text-editor"),
        ("venv-deepagents", "deepagents"),
        ("venv-harness", "pydantic-ai-harness"),
    ):
        python = PEERS / venv / "bin" / "python"
        if python.exists():
            code = f"from importlib.metadata import version; print(version({package!r}))"
            done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
            yield f"- {package} {done.stdout.strip()}"
