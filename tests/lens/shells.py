"""Shell sessions that are really run, and where each line of their files stands."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from readroom.lens.evidence import Known, evidence
from readroom.lens.records.events import Called, Returned

SHELL = shutil.which("bash") or "/bin/sh"

NAMES = ["a.py", "b.txt", "src/c.py", "src/d e.txt", ".env", "src/deep/f.log", "empty.txt", "g[1].txt"]


@dataclass
class Told:
    """How much of what was printed of files had a place, and what was wrong."""

    lines: int = 0
    wrong: list[str] = field(default_factory=list)


def planted(folder: Path, chance: random.Random) -> None:
    """Files with lines of their own, and some that all files have."""
    folder.mkdir(parents=True)
    for at, name in enumerate(NAMES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        count = 0 if name == "empty.txt" else chance.choice([1, 2, 3, 5, 9, 14, 40])
        lines = [f"v{at}_{number} = {number * 7}" for number in range(1, count + 1)]
        for line in range(count):
            if chance.random() < 0.2:
                lines[line] = chance.choice(
                    ["", "}", "---", "    return", f"{line}:x", "12-34-x", "a.py:3:y"]
                )
        end = "" if chance.random() < 0.3 else "\n"
        path.write_text("\n".join(lines) + (end if lines else ""), encoding="utf-8")


def _file(chance: random.Random) -> str:
    name = chance.choice([*NAMES, "missing.txt", "src/none.py", "src"])
    if " " in name or "[" in name:
        return chance.choice([f"'{name}'", f'"{name}"', name.replace(" ", "\\ ").replace("[", "\\[")])
    return chance.choice([name, name, name, f"./{name}", f'"{name}"'])


def _reading(chance: random.Random) -> str:
    first, count = chance.randint(1, 12), chance.randint(0, 6)
    name = _file(chance)
    other, last = _file(chance), first + count
    return chance.choice([
        f"cat {name}", f"cat {name}", f"cat {name} {other}", f"cat -n {name}", f"cat -n {name} {other}",
        f"cat -s {name}", f"sed -n '{first},{last}p' {name}", f"sed -n {first}p {name}",
        f"sed -n '{first + 3}p;{first}p' {name}", f"sed -n '{first},$p' {name}",
        f"sed -n '{first},{first - 1}p' {name}", f"head -n -1 {name}", f"tail -n +{first} {name}",
        f"head -{count + 1} {name}", f"head -n {count + 1} {name} {other}", f"tail -n {count + 1} {name}",
        f"tail -{count + 1} {name} {other}", f"nl {name}", f"nl -ba {name}", f"cat {name} | head -{last}",
        f"cat {name} | tail -{count + 1}", f"sed -n '{first},{first + 5}p' {name} | head -2",
        f"cat {name} | grep v", f"cat {name} | sort", f"cat -n {name} | head -{count + 1}",
        f"nl -ba {name} | sed -n '{first},{first + 2}p'", f"tail -n 4 {name} | head -2",
        f"head -4 {name} | tail -2", f"head -4 {name} | tail -n +2", f"grep -n v {name}",
        f"grep -n '=' {name} {other}", "grep -rn v src", "grep -r x .", f"grep -n -A1 -B1 v {name}",
        "grep -rn -C1 return .", f"grep -no v {name}", f"grep -c v {name}", f"cat < {name}",
        f"cat {name} 2>/dev/null", f"cat {name} > out.txt", f"cat {name} | tee out.txt",
        f"awk 'NR<=2' {name}", f"wc -l {name}", f"cat {name} | cat -n | tail -2", "cat *.py", "cat src/*",
        f"head -2 {name} | cat {other}",
    ])  # fmt: skip


_SAYS = ["echo ---", "echo '== next =='", "echo", "echo a b", 'echo "$HOME"', "printf 'x'", "pwd"]
_GOES = ["cd src", "cd src 2>/dev/null", "cd nowhere", "cd ..", "true", "false", "ls", "test -f a.py"]


def _step(chance: random.Random) -> str:
    name = _file(chance)
    others = [
        "for f in a.py b.txt; do sed -n 1,2p $f; done", f"if [ -f {name} ]; then cat {name}; fi",
        "(cd src; cat c.py)", f'F={name}; cat "$F"', "cat $(echo a.py)", f"cat {name} &", "wait",
        f"echo new >> {name}", "sed -i 1d b.txt", "cat <<EOF\nx\nEOF", f"x() {{ cat {name}; }}; x", "set -e",
        "cat {a.py,b.txt}", f"[ -f {name} ] && cat {name}", f"cat {name} # the file", "set -x", "exit 0",
    ]  # fmt: skip
    return chance.choice([*(_reading(chance) for _ in range(6)), *map(chance.choice, (_SAYS, _GOES, others))])


def command(chance: random.Random) -> str:
    """A command line of one to four steps."""
    line = _step(chance)
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
        line += chance.choice(["; ", " && ", "\n", " || ", " ; echo --- ; "]) + _step(chance)
    return line


def session(folder: Path, chance: random.Random, calls: int, told: Told) -> None:
    """Run some calls in one folder; each file that is named must have those lines, there, at that time."""
    planted(folder, chance)
    known = Known(root=str(folder))
    for number in range(calls):
        if chance.random() < 0.5:
            _read(folder, chance, known, number)
        line = command(chance)
        before = {name: _lines(folder / name) for name in _files(folder)}
        done = subprocess.run(
            [SHELL, "-c", line], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, timeout=60, check=False,
        )  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
        after = {name: _lines(folder / name) for name in _files(folder)}
        code = done.returncode if chance.random() < 0.5 else None
        returned = Returned("s", f"c{number}", text, exit_code=code)
        seen = evidence(Called("s", f"c{number}", "shell", {"command": line}), returned, known)
        told.lines += sum(len(run.lines) for run in seen.runs)
        states = [before, after]
        wrong = [
            f"{run.file}:{at} {row!r}"
            for run in seen.runs
            for at, row in enumerate(run.lines, run.first)
            if not any(row in files.get(run.file, ())[at - 1 : at] for files in states)
        ]
        own = {row for files in states for row in files.get(seen.sole_file, ())}
        plain = (row for row in text.split("\n") if row.startswith("v"))
        if seen.sole_file and any(row not in own for row in plain):
            wrong.append(f"all of {seen.sole_file}")
        told.wrong += (f"{line!r} -> {one} of {text!r}" for one in wrong)


def _read(folder: Path, chance: random.Random, known: Known, number: int) -> None:
    """The agent reads a file, and hears how long it is."""
    name = chance.choice(_files(folder))
    lines = _lines(folder / name)
    shown = "\n".join(f"{at}: {line}" for at, line in enumerate(lines, 1))
    end = f"(End of file - total {len(lines)} lines)\n</content>"
    text = f"<path>{name}</path>\n<type>file</type>\n<content>\n{shown}\n\n{end}"
    call = Called("s", f"r{number}", "read", {"filePath": name})
    evidence(call, Returned("s", f"r{number}", text), known)


def _files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def _lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
