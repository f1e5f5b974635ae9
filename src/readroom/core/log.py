"""The `readroom` logger, created on first use because importing `logging` takes 4 ms."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


@cache
def log() -> Logger:
    """The logger. Servers send it somewhere; no other program should print a traceback."""
    import logging

    logger = logging.getLogger("readroom")
    logger.addHandler(logging.NullHandler())
    return logger
