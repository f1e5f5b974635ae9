"""A program that runs commands as readroom does, in a process and as a user of its own.

What a command must not reach is here: a secret in the environment, open descriptors
of secret files, a controlling terminal, listeners, and a victim beside it.  Jobs and answers
are lines of JSON; see `cells`, which starts it.  All of this is in a fork, and the line `end`
another one takes its place: an attack that worked has spent it, and to import readroom again
would take most of the time.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import subprocess
import sys
import termios
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

import readroom.core.engine.command  # noqa: F401  # else every fork imports it
from readroom.core.config import load, open_store
from readroom.core.workspace import Workspace

NOBODY = 65534

_PR_SET_DUMPABLE = 4
_SET_VALUE = 16

_SECRET = os.environ.get("SECRET", "").encode()
"""It is in the environment of this process, and in what it shares with other programs of its user."""


def main() -> None:
    """One after the other, until nobody asks any more."""
    while child := os.fork():
        if os.waitpid(child, 0)[1]:
            return
    wanted = _serve()
    os._exit(0 if wanted else 1)


def _serve() -> bool:
    """Announce what is here, then answer; whether another one is wanted after it."""
    if sys.argv[1] == "nobody":
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # As any program of that user: a change of user closes a process to its own kind.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1)
    terminal, typed = _terminal()
    reached: list[str] = []
    doors = {**_listeners(sys.argv[2], reached), **_shared()}
    for path in sys.argv[3:]:
        os.open(path, os.O_RDWR)
    with subprocess.Popen(["/bin/sleep", "1000"], stdin=subprocess.DEVNULL) as victim:
        print(json.dumps({"server": os.getpid(), "victim": victim.pid, "tty": os.ttyname(typed), **doors}))
        sys.stdout.flush()
        while (line := sys.stdin.readline()) not in ("end\n", ""):
            answer = _answers(json.loads(line))
            victim_ended = victim.poll() is not None
            state = {"reached": reached, "victim_ended": victim_ended, "typed": _typed(terminal, typed)}
            print(json.dumps({"replies": answer, **state}))
            sys.stdout.flush()
        victim.kill()
    _unshare(doors)
    return bool(line)


def _terminal() -> tuple[int, int]:
    """A controlling terminal, as a person's shell has it."""
    os.setsid()
    terminal, typed = os.openpty()
    fcntl.ioctl(typed, termios.TIOCSCTTY, 0)
    return terminal, typed


def _typed(terminal: int, typed: int) -> bool:
    """Whether anything was shown on it or put into its input."""
    return bool(select.select([terminal, typed], [], [], 0)[0])


def _shared() -> dict[str, object]:
    """Memory, messages, a semaphore and a queue that other programs of the user could reach."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    memory, messages, semaphore = libc.shmget(0, 4096, 0o600), libc.msgget(0, 0o600), libc.semget(0, 1, 0o600)
    ctypes.memmove(libc.shmat(memory, 0, 0), _SECRET, len(_SECRET))
    libc.shmctl(memory, 0, None)  # it is there as long as this process, and others can attach it
    libc.msgsnd(messages, (1).to_bytes(8, sys.byteorder) + _SECRET, len(_SECRET), 0)
    libc.semctl(semaphore, 0, _SET_VALUE, 77)
    queue = f"readroom-{os.getpid()}"
    libc.mq_open(f"/{queue}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
    return {"memory": memory, "messages": messages, "semaphore": semaphore, "queue": queue}


def _unshare(shared: dict[str, object]) -> None:
    """Remove them; nothing else does."""
    libc = ctypes.CDLL(None)
    libc.msgctl(shared["messages"], 0, None)
    libc.semctl(shared["semaphore"], 0, 0)
    libc.mq_unlink(f"/{shared['queue']}".encode())


def _listeners(path: str, reached: list[str]) -> dict[str, object]:
    named = socket.socket(socket.AF_UNIX)
    named.bind(path)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0readroom-{os.getpid()}")
    datagrams = {name: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for name in ("sent", "sent abstract")}
    datagrams["sent"].bind(f"{path}-datagrams")
    datagrams["sent abstract"].bind(f"\0readroom-{os.getpid()}-datagrams")
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(tcp.getsockname())

    def listen(name: str, door: socket.socket) -> None:
        if door.type == socket.SOCK_STREAM:
            door.listen()
        with contextlib.suppress(OSError):
            while True:
                _ = door.accept() if door.type == socket.SOCK_STREAM else door.recvfrom(1)
                reached.append(name)

    for name, door in {"named": named, "abstract": abstract, "tcp": tcp, "udp": udp, **datagrams}.items():
        threading.Thread(target=listen, args=(name, door), daemon=True).start()
    return {"socket": path, "abstract": f"readroom-{os.getpid()}", "port": tcp.getsockname()[1]}


def _answers(job: dict[str, Any]) -> list[dict[str, Any]]:
    settings = load(open_store(job["root"]), allow_commands=True)
    commands = replace(settings.commands, **job["policy"])
    with Workspace(job["root"], settings=replace(settings, commands=commands)) as workspace:

        def run(command: str) -> dict[str, Any]:
            ready.wait()
            reply = workspace.call("run_command", {"command": command, "output": "full", "timeout_s": 30})
            return {"text": reply.text, "facts": reply.facts}

        together = len(job["commands"]) if job["at_once"] else 1
        ready = threading.Barrier(together)
        with ThreadPoolExecutor(together) as pool:
            return list(pool.map(run, job["commands"]))


if __name__ == "__main__":
    main()
