"""The entry point of the `readroom` command.

Nothing of readroom or click is imported before `main` runs, so that Ctrl-C during the start is as quiet as
later.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    refusal = unsupported(sys.platform)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 5  # ExitCode.FAILED, before anything is imported
    _open_closed_streams()
    # Imported modules never become garbage: collecting costs 5 ms of 130. `_start` turns it on again.
    gc.disable()
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if words[:1] == ["remote"]:
            from readroom.cli.remote import far

            return far.run(main)
        if words[:1] not in (["--help"], ["--version"]):
            _import_msgspec()
        if any(word.startswith("--at") for word in words):
            from readroom.cli.remote import command

            if command.asked(words):
                return command.run(words)
        if words[:1] == ["mcp"]:
            from readroom.cli import early

            code = early.run(words[1:])
            if code is not None:
                return code
        from readroom.cli.commands import run

        return run(words)
    except KeyboardInterrupt:
        return 130  # as shells report a program that SIGINT ended: 128 + 2
    finally:
        gc.enable()


def _open_closed_streams() -> None:
    """Reopen closed standard streams on /dev/null.

    A file that is opened later would get the number of one, and be read or written in its place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: that of the stream
            os.set_inheritable(number, True)
            stream = os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)


def _import_msgspec() -> None:
    """Import msgspec, which nearly every command needs, without modules for old Pythons only.

    From `typing_extensions`, where it is installed, it takes names that `typing` has since Python 3.11;
    with `inspect` and `ast` that is a sixth of the processor time of `readroom read`.
    """
    name = "typing_extensions"
    if "msgspec" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so that it cannot be imported
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def unsupported(platform: str) -> str | None:
    """Why readroom does not run on `sys.platform`; None where it does."""
    if platform in ("win32", "cygwin"):
        return "readroom does not run on Windows yet; use it inside the Windows Subsystem for Linux (WSL)."
    return None
