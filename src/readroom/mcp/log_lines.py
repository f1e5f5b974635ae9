"""The log of a server: standard error, without content of files.

The message of an exception may quote a file, and Python 3.13 shows the source of a program given on the
command line; so a traceback contains only the locations of its frames and the type of the exception.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import TypeAlias

_Raised: TypeAlias = (
    "tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]"
)


class Formatter(logging.Formatter):
    """One line per record, with the frames below it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: _Raised) -> str:
        """Frames and type, without the message."""
        kind, _, trace = ei
        name = "" if kind is None else f"{kind.__module__}.{kind.__qualname__}"
        frames = (
            f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
            for frame, line in traceback.walk_tb(trace)
        )
        return "".join(frames) + name


def to_stderr(access: logging.Logger | None = None) -> None:
    """Log warnings and errors of this process to standard error, unless logging was set up before.

    `access` is a logger whose lines are JSON already: they are written as they are.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    if access is not None and not access.handlers:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        access.addHandler(lines)
        access.setLevel(logging.INFO)
        access.propagate = False
