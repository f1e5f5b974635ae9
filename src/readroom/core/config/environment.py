"""The environment of this process: its variables, and where this user's files are.

Knows: nothing of workspaces.
"""

from __future__ import annotations

import os
import sys

from readroom.core import errors
from readroom.core.config import settings
from readroom.core.config.settings import TOKENS_FILE
from readroom.core.session.observer import Observing


def variables(*names: str) -> dict[str, str]:
    """Those of these variables of the environment that are set to something."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def give_variable(name: str, value: str) -> None:
    """Set a variable for a library of this process and of those that are forked from it."""
    os.environ[name] = value


def own_file(name: str) -> str | None:
    """A file in this user's state folder; None when it is unknown where that is."""
    return settings.own_file(os.environ, sys.platform, name)


def token_file() -> str:
    """The file of tokens. Raises BadConfig when it is unknown where this user's files are."""
    path = own_file(TOKENS_FILE)
    if path is None:
        advice = "Set HOME or XDG_STATE_HOME; a server that asks for no token needs none (--open, --socket)."
        raise errors.BadConfig("HOME", "", "it is not set to a folder", advice)
    return path


def observing_of_environment() -> Observing | None:
    """The collector that variables of OpenTelemetry name; None if none does."""
    names = (f"OTEL_EXPORTER_OTLP{signal}_ENDPOINT" for signal in ("", "_TRACES", "_METRICS"))
    if not any(map(os.environ.get, names)):
        return None
    from readroom.core.config.file import form

    observing: Observing = form("otel")().applied(None)
    return observing


def has_state() -> bool:
    """Whether it is known where this user's files are."""
    return own_file(TOKENS_FILE) is not None
