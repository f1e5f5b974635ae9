"""One who may call every tool of a session where secrets are masked: nothing that they try shows one."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from readroom.core.contracts import history
from readroom.core.contracts.base import tool_result
from readroom.core.policy.commands import CommandPolicy
from readroom.core.values import Reply
from tests.core.git.making import Repo, needs_git
from tests.laws.masked import PLAIN, STORED, Layout, Secrets, dumped, masking, plant, without
from tests.suites import daily, whole

pytest.importorskip("detect_secrets", reason="needs the extra `audit`")

CONF = "conf.yaml"


class Attacker:
    """A caller of one folder, all of whose replies are listened to."""

    def __init__(self, root: Path, seed: int, files: Any, **settings: Any) -> None:
        self.root, self.secrets = root, Secrets(seed)
        plant(root, Layout(1), self.secrets, files)
        self.workspace = masking(root, **settings)
        self.said: list[bytes] = []

    def call(self, tool: str, contract: str = "native", **arguments: Any) -> Reply:
        reply = self.workspace.call(tool, arguments, contract_name=contract)
        body = dumped(tool_result(reply))
        found = [run for run in self.secrets.heard(body) if run not in json.dumps(arguments)]
        assert not found, (tool, arguments, found[:3], reply.text[:2000])
        self.said.append(without(body, self.root))
        return reply

    def hash(self, path: str = CONF) -> str:
        return str(self.call("read_file", path=path).facts["content_hash"])

    def edit(self, old: str, new: str, path: str = CONF, **more: Any) -> Reply:
        edit = {"old_text": old, "new_text": new}
        return self.call("edit_file", path=path, expected_hash=self.hash(path), edits=[edit], **more)

    def bytes(self, path: str = CONF) -> bytes:
        return (self.root / path).read_bytes()


@contextmanager
def attacker(root: Path, seed: int = 1, files: Any = None, **settings: Any) -> Iterator[Attacker]:
    one = Attacker(root, seed, {CONF: PLAIN[CONF]} if files is None else files, **settings)
    with one.workspace:
        yield one


def code_of(reply: Reply) -> object:
    error: Any = reply.facts.get("error") or {}
    return error.get("code")


# --- looking -------------------------------------------------------------------------------------


def test_windows_that_overlap_show_no_more_together(tmp_path: Path) -> None:
    """Columns and lines of every size, joined in the order of their places."""
    with attacker(tmp_path / "a") as one:
        total: Any = one.call("read_file", path=CONF).facts["total_lines"]
        joined = ""
        for line in range(1, total + 1, 3):
            for column in range(1, 60, 7):
                reply = one.call("read_file", path=CONF, offset=line, limit=1, column=column)
                joined += reply.text.split("\n", 2)[1] if not reply.is_error else ""
        assert not one.secrets.heard(joined.encode())


ORACLES = [
    *(f"^password: .{{{at}}}[{letters}]" for at in (0, 1, 7) for letters in ("a-m", "n-z", "0-9", "A-Z")),
    "password: .*7$",
    r"(?m)^password: \w+$",
    "password: [^a-z]+$",
    "password: (?i:[a-f])",
    "AKIA[^A-M]",
    r"(.)\1",
    "(?s)password: .{13}7\n",
    r"\bpassword: .{14}$",
    r"password: [\x7f][U]",
]


def test_no_pattern_tells_a_character(tmp_path: Path) -> None:
    said = []
    for seed in (1, 2):
        with attacker(tmp_path / str(seed), seed) as one:
            for pattern in ORACLES:
                for output in ("content", "count", "files"):
                    one.call("grep_files", pattern=pattern, output=output)
                one.call("grep_files", pattern=pattern, multiline=True, ignore_case=True)
            said.append(one.said)
    assert said[0] == said[1]


ENDINGS = (
    "txt", "log", "bin", "png", "gz", "zip", "ipynb", "eml", "pdf", "py", "html", "csv", "md", "json", "docx",
)  # fmt: skip


def test_no_name_of_a_file_shows_more(tmp_path: Path) -> None:
    """Links, hard links, copies under every ending, moves into folders, renamed folders."""
    with attacker(tmp_path / "a") as one:
        (one.root / "link.txt").symlink_to(CONF)
        os.link(one.root / CONF, one.root / "hard.log")
        (one.root / "folder").mkdir()
        (one.root / "folder" / "up").symlink_to("..")
        names = ["link.txt", "hard.log", f"folder/up/{CONF}"]
        for ending in ENDINGS:
            (one.root / f"made.{ending}").write_bytes(one.bytes())
            names.append(f"made.{ending}")
            change = {"action": "copy", "path": CONF, "to": f"copy.{ending}", "expected_hash": one.hash()}
            one.call("change_files", changes=[change])
            change = {"action": "move", "path": f"copy.{ending}", "to": f"folder/moved.{ending}x"}
            one.call("change_files", changes=[{**change, "expected_hash": one.hash()}])
            names += [f"copy.{ending}", f"folder/moved.{ending}x"]
        rename = {"action": "move", "path": "folder", "to": "renamed", "entries": len(ENDINGS) + 1}
        assert not one.call("change_files", changes=[rename]).is_error
        for name in [*names, *(name.replace("folder", "renamed") for name in names)]:
            one.call("read_file", path=name)
            one.call("read_file", path=name, view="outline")
            one.call("read_file", path=name, encoding="latin-1")
            one.call("read_file", contract="everruns", path=name)
        assert one.bytes("renamed/moved.txtx") == one.bytes()


def test_a_text_like_a_sign_is_no_way_in(tmp_path: Path) -> None:
    """One who knows what stands for a secret writes it, moves it and copies it."""
    with attacker(tmp_path / "a") as one:
        size = len(one.secrets.of("password or key"))
        sign = ("\x7fU" * size)[:size]
        before = one.bytes()
        for old, new in (
            (f"password: {sign}", f"title: {sign}"),
            (f"password: {sign}", f"password: {sign}\ntitle: {sign}"),
            (f"password: {sign}", f"password: {sign[:-2]}\ntitle: {sign[-2:]}"),
            ("name: service", f"name: service\npassword: {sign}"),
            (sign, "x" * size),
            (sign[:4], ""),
        ):
            one.edit(old, new)
            one.call("read_file", path=CONF)
        patch = f"*** Begin Patch\n*** Add File: new.txt\n+title: {sign}\n*** End Patch\n"
        one.call("apply_patch", patch=patch)
        one.call("write_file", path="own.txt", content=f"title: {sign}\n", expected_hash="absent")
        assert not one.secrets.heard(one.bytes("own.txt"))
        assert one.secrets.of("password or key").encode() in one.bytes()
        assert before.count(b"\n") <= one.bytes().count(b"\n")


# --- changing ------------------------------------------------------------------------------------

GLUE = (
    "",
    "x",
    "AKIA",
    "ghp_",
    "title: ",
    "# ",
    "\n",
    '"',
    "'",
    "=",
    "password",
    "\\",
    "\x00",
    "//",
    "sk-",
    "7",
)


@daily(2, "number", range(len(Secrets(1).lines)))
def test_no_change_beside_a_secret_uncovers_it(tmp_path: Path, number: int) -> None:
    """Text before it and after it is taken away, or replaced by what could break its form."""
    rng = random.Random(number)
    with attacker(tmp_path / "a") as one:
        _, line, secret = one.secrets.lines[number]
        front, _, back = line.partition(secret)
        worked = 0
        for _ in range(30):
            before = one.bytes()
            cut = rng.randrange(len(front) + 1)
            old = rng.choice([front[cut:], front, back, back[: rng.randrange(len(back) + 1)]])
            if not old:
                continue
            reply = one.edit(old, rng.choice(GLUE))
            assert not one.secrets.heard(one.call("read_file", path=CONF).text.encode())
            worked += not reply.is_error
            (one.root / CONF).write_bytes(before)
        kept = one.edit("name: service", "name: servant")
        assert not kept.is_error
        assert secret.encode() in one.bytes()


def test_whether_a_change_is_made_tells_nothing(tmp_path: Path) -> None:
    """Text that would make a secret another kind by what it is, in front of it and behind it."""
    said = []
    values = ("Q7RX4KD2M8TZ5w", "q7rx4kd2m8tz5w", "QRXaKDbMcTZ5Ws", "7QrX4kD2m8tZ5w")
    for number, value in enumerate(values):
        root = tmp_path / str(number)
        root.mkdir()
        (root / CONF).write_text(f"name: service\npassword: {value}\nend: 1\n")
        with masking(root) as workspace:
            replies = []
            for front in (
                "password: AKIA",
                "password: AKIAAAA",
                "ghp_",
                "password: x",
                "title: ",
                "key: 1234567",
                "#",
            ):
                for old in ("password: ", "password:"):
                    read = workspace.call("read_file", {"path": CONF})
                    assert "[masked: password or key, 14 characters]" in read.text
                    known: Any = read.facts
                    arguments = {
                        "path": CONF,
                        "expected_hash": known["content_hash"],
                        "edits": [{"old_text": old, "new_text": front}],
                        "dry_run": True,
                    }
                    replies.append(workspace.call("edit_file", arguments).text)
            said.append(replies)
    assert said[0] == said[1] == said[2] == said[3]


@pytest.mark.parametrize(
    ("line", "old", "new", "values"),
    [
        ("password=VALUE,", "password=", "(password=", ("aqwzxkfrlmp7", "aQwzxkfrLmp7")),
        ("auth-token: VALUE # note", "auth-token", "(auth-token", ("aqwzxkfrlmp7", "aqw.zxkfr!m7")),
        ("access-token=VALUE,", "access-token", "x access-token", ("aqwzxkfrlmp7", "aqw.zxkfr!m7")),
        ("auth-token: VALUE\\n x", "n x", "(n x", ("aqwzxkfrlmp7", "aqwz:kfrl@p7")),
    ],
)
def test_forms_that_ask_for_some_characters_tell_none(
    tmp_path: Path, line: str, old: str, new: str, values: tuple[str, ...]
) -> None:
    """A change to a form in which only values with a digit, a capital or no sign are masked."""
    said = []
    for number, value in enumerate(values):
        root = tmp_path / str(number)
        root.mkdir()
        (root / CONF).write_text(f"name: service\n{line.replace('VALUE', value)}\nend: 1\n")
        with masking(root) as workspace:
            read = workspace.call("read_file", {"path": CONF})
            known: Any = read.facts
            edit = {"old_text": old, "new_text": new}
            arguments = {"path": CONF, "expected_hash": known["content_hash"], "edits": [edit]}
            said.append((read.text, workspace.call("edit_file", arguments).text))
    assert said[0] == said[1]
    assert "[masked: password or key, 12 characters]" in said[0][0]


def test_lines_beside_secrets_may_be_commented_out(tmp_path: Path) -> None:
    with attacker(tmp_path / "a") as one:
        password = one.secrets.of("password or key")
        reply = one.edit("password: ", "# password: ")
        assert not reply.is_error, reply.text
        assert f"# password: {password}".encode() in one.bytes()


# --- the past ------------------------------------------------------------------------------------


def test_the_past_shows_no_more(tmp_path: Path) -> None:
    """Changes by tools and by others, their diffs, undoing, and undoing that."""
    with attacker(tmp_path / "a", files={CONF: PLAIN[CONF], "src/app.py": PLAIN["src/app.py"]}) as one:
        one.edit("name: service", "name: servant")
        change = {"action": "delete", "path": "src/app.py", "expected_hash": one.hash("src/app.py")}
        one.call("change_files", changes=[change])
        one.call("read_file", path="src/app.py")
        listed: Any = one.call(history.LIST, history.CONTRACT).facts["changes"]
        assert len(listed) == 2
        for each in listed:
            one.call(history.SHOW, history.CONTRACT, change=each["change"])
            one.call(history.UNDO, history.CONTRACT, change=each["change"], dry_run=True)
        (one.root / CONF).write_bytes(one.bytes().replace(b"last: line", b"last: other"))
        for each in listed:
            one.call(history.UNDO, history.CONTRACT, change=each["change"])
        assert (one.root / "src/app.py").read_bytes() == PLAIN["src/app.py"](one.secrets, Layout(1))
        one.call(history.LIST, history.CONTRACT)
        one.call("read_file", path="src/app.py")


_IDENTIFIERS = re.compile(rb'(?<![0-9a-f])[0-9a-f]{6,40}(?![0-9a-f])|"tokens": \d+')


@needs_git
def test_commits_show_no_more(tmp_path: Path) -> None:
    said = []
    for seed in (1, 2):
        with attacker(tmp_path / str(seed), seed) as one:
            repo = Repo(one.root)
            conf = one.bytes()
            repo.commit({CONF: conf}, f"add {one.secrets.of('GitHub token')}")
            repo.commit({CONF: conf.replace(b"last: line", b"last: 2"), "a/gone.pem.txt": one.secrets.pem})
            repo.commit({"a/gone.pem.txt": None, "zipped.txt": "x\n"}, f"password={one.secrets.guesses[1]}")
            (one.root / CONF).write_bytes(conf.replace(b"password: ", b"secret: "))
            for show in ("changes", "log", "blame"):
                for more in (
                    {},
                    {"path": CONF},
                    {"revision": "HEAD~1"},
                    {"path": CONF, "revision": "HEAD~1"},
                ):
                    one.call("git", show=show, **more)
            one.call("git", show="changes", revision="HEAD~2..HEAD")
            for revision in ("HEAD", "HEAD~1", "HEAD~2"):
                one.call("read_file", path=f"{CONF}@{revision}")
                one.call("grep_files", pattern="password|BEGIN", path=f"@{revision}", after=3)
                one.call("list_directory", path=f"@{revision}")
            one.call("read_file", path="a/gone.pem.txt@HEAD~1")
            # Identifiers differ, and with them the tokens that they are estimated at.
            said.append([_IDENTIFIERS.sub(b"ID", body) for body in one.said])
    for left, right in zip(*said, strict=True):
        assert left == right


# --- commands ------------------------------------------------------------------------------------


def test_what_commands_print_and_leave_is_masked(tmp_path: Path) -> None:
    """Streams, kept outputs, background commands, archives and files that they make."""
    policy = CommandPolicy(enabled=True, confinement="none")
    files = {CONF: PLAIN[CONF], "deploy.txt": PLAIN["deploy.txt"], "src/app.py": PLAIN["src/app.py"]}
    with attacker(tmp_path / "a", files=files, commands=policy) as one:
        outputs = []
        for command in (
            f"cat {CONF} >&2",
            "for n in 1 2 3 4 5 6 7 8 9; do cat src/app.py; done",
            "tail -c 300 deploy.txt",
            "head -c 400 deploy.txt",
            f"sed 's/^/> /' {CONF} > quoted.txt; cat quoted.txt",
            "tar czf made.tgz src deploy.txt; gzip -k deploy.txt; cp src/app.py made.dat",
            f"grep -n . {CONF} | tac",
            f"python3 -c \"import json; print(json.dumps(open('{CONF}').read()))\"",
        ):
            reply = one.call("run_command", command=command)
            facts: Any = reply.facts
            outputs += [output["path"] for output in facts.get("outputs") or ()]
        for path in (*outputs, "quoted.txt", "made.tgz", "made.tgz!/src/app.py", "deploy.txt.gz", "made.dat"):
            one.call("read_file", path=path)
            one.call("grep_files", pattern="[A-Za-z0-9/+]{20}", path=path, include=["archives", "compressed"])
        started: Any = one.call("run_command", command=f"cat {CONF}; echo done", background=True).facts
        one.call("check_command", id=started["id"], until="done", timeout_s=60)
        one.call("check_command", id=started["id"], wait_s=60)
        one.call("check_command")


@whole
@pytest.mark.parametrize("contract", ["everruns", "opencode"])
def test_commands_of_other_contracts_are_masked_too(tmp_path: Path, contract: str) -> None:
    policy = CommandPolicy(enabled=True, confinement="none")
    with attacker(tmp_path / "a", files={**PLAIN, **STORED}, commands=policy) as one:
        for tool in one.workspace.offered(contract):
            if "command" in tool.input_schema["properties"]:
                more = {"description": "show"} if "description" in tool.input_schema["properties"] else {}
                one.call(tool.name, contract, command=f"cat {CONF} src/app.py", **more)
