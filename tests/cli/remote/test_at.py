"""`--at`: the same command on another machine, through a real sshd."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.remote.sshd import Sshd, needs_sshd
from tests.cli.running import COMMAND
from tests.each import each
from tests.suites import whole

pytestmark = needs_sshd

PATIENCE_S = 300


def run(
    *words: str, environment: Mapping[str, str], sent: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *words], env=dict(environment), input=sent, capture_output=True, timeout=PATIENCE_S,
        cwd=cwd, check=False,
    )  # fmt: skip


def local(folder: Path, *words: str, sent: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, input=sent, capture_output=True, timeout=PATIENCE_S, check=False
    )


def encoded(folder: Path) -> str:
    return quote(str(folder))


SAME: Sequence[Sequence[str]] = (
    ("ls",),
    ("read", "README.md", "src/orders.py"),
    ("grep", "-i", "NEEDLE"),
    ("grep", "nothing of this kind"),
    ("read", "nope.md"),
    ("read", ".env"),
    ("read", "--json", ".env"),
    ("read", "README.md", "--limit", "x"),
    ("read", "README.md", "--no-such-option"),
    ("outline", "src/orders.py"),
    ("call", "read_file", '{"path": "README.md"}'),
    ("call", "read_file", "not 'JSON\" $x\nhere"),
    ("explain", ".env"),
)


@each("words", SAME)
def test_output_errors_and_exit_code_are_those_of_the_command_there(
    words: Sequence[str], sshd: Sshd, shop: Path
) -> None:
    """In both orders of its words; only what names the folder, or the time, differs."""
    here = local(shop, *words)
    there = run(*words, "--at", sshd.address(encoded(shop)), environment=sshd.environment)
    assert there.returncode == here.returncode
    assert there.stdout.split(b" --at ")[0] == here.stdout.split(b" --at ")[0]
    assert there.stderr.count(b"\n") >= here.stderr.count(b"\n") - 1
    assert bool(there.stderr) == bool(here.stderr)


def test_a_following_command_names_the_address_and_works(sshd: Sshd, shop: Path) -> None:
    (shop / "long.txt").write_text("".join(f"line {number}\n" for number in range(9000)))
    address = sshd.address(encoded(shop))
    first = run("read", "--limit", "2", "long.txt", "--at", address, environment=sshd.environment)
    following = first.stdout.decode().rpartition("Next: readroom ")[2].removesuffix("]\n")
    assert f"--at {address}" in following
    done = subprocess.run(
        f"{' '.join(COMMAND)} {following}", shell=True, env=sshd.environment, capture_output=True, check=False
    )
    assert b"3\tline 2" in done.stdout, done


def test_changes_are_made_there_with_text_from_here(sshd: Sshd, shop: Path) -> None:
    text = "".join(f"{number} ü\n" for number in range(40_000)).encode()
    wrote = run(
        "write",
        "--new",
        "a/b.txt",
        f"--at={sshd.address(encoded(shop))}",
        environment=sshd.environment,
        sent=text,
    )
    assert (wrote.returncode, (shop / "a/b.txt").read_bytes()) == (0, text), wrote.stderr
    where = ("--at", sshd.address(encoded(shop)))
    edit = ("edit", "--now", "--old", "needle", "--new", "--at", "README.md")
    assert run(*edit, *where, environment=sshd.environment).returncode == 2  # a text like the option needs =
    changed = ("edit", "--now", "--old=needle", '--new=it\'s\n"$x"', "README.md")
    assert run(*changed, *where, environment=sshd.environment).returncode == 0
    assert (shop / "README.md").read_text() == '# shop\nit\'s\n"$x"\n'


def test_standard_input_is_left_to_a_loop_of_the_shell(sshd: Sshd, shop: Path) -> None:
    """The mistake of `ssh` in a loop that reads a list: it would swallow the rest of it."""
    line = (
        f"while read f; do {' '.join(COMMAND)} read $f --limit 1 --at '{sshd.address(encoded(shop))}'; done"
    )
    done = subprocess.run(
        ["sh", "-c", line],
        env=sshd.environment,
        input=b"README.md\nsrc/orders.py\n",
        capture_output=True,
        check=False,
    )
    assert done.stdout.count(b" | lines 1-1 of 2") == 2, done


def test_the_home_folder_there_and_an_address_of_version_six(sshd: Sshd) -> None:
    (sshd.home / "hello.txt").write_text("hello\n")
    done = run("read", "hello.txt", "--at", sshd.address("/~", host="[::1]"), environment=sshd.environment)
    assert b"1\thello" in done.stdout, done


def test_what_a_login_shell_prints_before_is_passed_over(sshd: Sshd, shop: Path) -> None:
    done = run("ls", "--at", sshd.address(encoded(shop), "banner"), environment=sshd.environment)
    assert (done.returncode, done.stdout) == (0, local(shop, "ls").stdout), done


REFUSED = {
    "flood": "is not from readroom",
    "empty": "there is no readroom there. Copy the one file",
    "old": "its Python 3.8 is too old",
    "bare": "there is no Python there",
    "another": "is of another version",
}


@each("machine", REFUSED)
def test_what_is_missing_there_is_said(machine: str, sshd: Sshd, shop: Path) -> None:
    done = run("ls", "--at", sshd.address(encoded(shop), machine), environment=sshd.environment)
    assert (done.returncode, done.stdout) == (8, b"")
    assert REFUSED[machine] in done.stderr.decode()


@each("known", [True, False])
def test_ssh_that_does_not_get_in_is_told_apart(known: bool, sshd: Sshd, shop: Path) -> None:
    done = run("ls", "--at", sshd.address(encoded(shop)), environment=sshd.stranger(known=known))
    expected = b"has no key that it accepts" if known else b"its host key is unknown"
    assert expected in done.stderr
    assert done.returncode == 8
    as_json = run("ls", "--json", "--at", sshd.address(encoded(shop)), environment=sshd.stranger(known=known))
    assert b'"code":"not_reached"' in as_json.stdout


def test_a_machine_without_ssh_says_so(sshd: Sshd, tmp_path: Path) -> None:
    done = run("ls", "--at", "ssh://host/x", environment={**os.environ, "PATH": str(tmp_path)})
    assert b"ssh is not installed here" in done.stderr
    assert done.returncode == 8


def test_a_folder_that_is_not_there_is_an_error_of_readroom(sshd: Sshd, shop: Path) -> None:
    done = run("ls", "--at", sshd.address("/nope"), environment=sshd.environment)
    assert done.returncode == 4
    assert b"no file or folder /nope" in done.stderr
    done = run("ls", "--at", sshd.address(f"{encoded(shop)}/README.md"), environment=sshd.environment)
    assert done.returncode == 5


@each(
    "words",
    [
        ("serve", "--at", "ssh://h/x"), ("--at", "ssh://h/x"), ("ls", "--at"),
        ("ls", "--at", "ssh://h/x", "--at", "ssh://h/y"),
        ("ls", "--root", "/x", "--at", "ssh://h/x"), ("ls", "--at", "ssh://-oProxyCommand=touch$IFS/tmp/x/y"),
        ("ls", "--at", "/srv"), ("ls", "--at="),
    ],
)  # fmt: skip
def test_a_command_line_that_makes_no_sense_starts_nothing(words: Sequence[str], tmp_path: Path) -> None:
    done = run(*words, environment={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2, done
    assert done.stderr


def test_a_name_like_the_option_is_a_name_after_two_dashes(tmp_path: Path) -> None:
    (tmp_path / "--at").write_text("odd\n")
    assert b"1\todd" in local(tmp_path, "read", "--", "--at").stdout


def test_a_file_of_the_folder_names_no_machine(sshd: Sshd, shop: Path) -> None:
    """`readroom.toml` comes with the folder, which may be hostile."""
    for key in ("at", "root", "address", "remote"):
        (shop / "readroom.toml").write_text(f'{key} = "ssh://evil/x"\n')
        assert local(shop, "ls").returncode == 2
        assert run("ls", "--at", sshd.address(encoded(shop)), environment=sshd.environment).returncode == 2


linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="nothing lists processes")


@whole
@linux
def test_an_interrupt_ends_the_command_there(sshd: Sshd, shop: Path) -> None:
    """A command that waits for its input has not seen its end, and changes nothing."""
    words = ("write", "--new", "half.txt", "--at", sshd.address(encoded(shop)))
    process = subprocess.Popen(
        [*COMMAND, *words], env=sshd.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"half")
    process.stdin.flush()
    _until(lambda: _running(sshd))
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 130
    _until(lambda: not _running(sshd))
    assert not (shop / "half.txt").exists()
    process.stdin.close()
    assert process.stderr is not None
    process.stderr.close()


@whole
@linux
@each("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_connection_that_breaks_is_no_end_of_the_input(number: int, sshd: Sshd, shop: Path) -> None:
    words = ("write", "--new", "half.txt", "--at", sshd.address(encoded(shop)))
    process = subprocess.Popen(
        [*COMMAND, *words],
        env=sshd.environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(b"half")
    process.stdin.flush()
    _until(lambda: _running(sshd))
    os.killpg(process.pid, number)  # readroom and ssh at once
    process.communicate()
    _until(lambda: not _running(sshd))
    assert not (shop / "half.txt").exists()


def test_the_terminal_here_decides_about_colours(sshd: Sshd, shop: Path) -> None:
    pytest.importorskip("rich")
    words = [*COMMAND, "read", "src/orders.py", "--at", sshd.address(encoded(shop))]
    environment = {**sshd.environment, "TERM": "xterm-256color"}
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 77))
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 4096):
            shown += data
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    assert b"\x1b[" in shown
    assert b"total" in shown
    assert b"\r\r" not in shown
    assert b"\x1b[" not in run(*words[len(COMMAND) :], environment=environment).stdout


def _running(sshd: Sshd) -> bool:
    """Whether a command runs for a far end of this server, whose machines are all this one."""
    home = os.fsencode(f"\0HOME={sshd.home}\0")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            remote = b"\0remote\0" in (folder / "cmdline").read_bytes()
            ours = home in b"\0" + (folder / "environ").read_bytes()
            if remote and ours and _leads_a_session(folder):
                return True
        except OSError:
            continue
    return False


def _leads_a_session(folder: Path) -> bool:
    """The fork that runs the command has the command line of its parent, and a session of its own."""
    return (folder / "stat").read_text().rpartition(")")[2].split()[3] == folder.name


def _until(true: Callable[[], bool]) -> None:
    for _ in range(6000):
        if true():
            return
        select.select([], [], [], 0.05)
    raise AssertionError("it did not happen")


def test_a_question_is_asked_here_and_its_answer_counts_there(sshd: Sshd, shop: Path) -> None:
    """`undo` asks a person at a terminal, who is at this one."""
    address = sshd.address(encoded(shop))
    run(
        "edit",
        "--now",
        "--old=needle",
        "--new=thread",
        "README.md",
        "--at",
        address,
        environment=sshd.environment,
    )
    for answer, left in ((b"n\n", "thread"), (b"y\n", "needle")):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, "undo", "README.md", "--at", address],
            env=sshd.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
                if b"[y/N]" in shown and answer:
                    os.write(ours, answer)
                    answer = b""
        except OSError:  # how a terminal ends
            pass
        os.close(ours)
        process.wait(PATIENCE_S)
        assert answer == b"", shown
        assert left in (shop / "README.md").read_text(), shown
