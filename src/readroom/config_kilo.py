"""The section [contracts.kilo]: the settings of Kilo Code that this contract has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from readroom.config_commands import Bad
from readroom.contracts.kilo_setup import NEVER, KiloSetup
from readroom.contracts.setup import Setup

KILO_KEYS = ("max_read_file_line", "auto_truncate")

_MOST = 2**40


def read_kilo(section: Mapping[str, object], before: Setup, bad: Bad, *, trusted: bool) -> Setup:
    """The setup with what the section says.

    Args:
        section: Keys of KILO_KEYS.
        before: What held without it.
        bad: Makes failures.
        trusted: The file is the operator's; another can only have less shown.

    Raises:
        BadConfig: A value cannot be used, or the file may not say so.
    """
    kilo = before.kilo
    if "max_read_file_line" in section:
        kilo = replace(kilo, max_read_file_line=_threshold(section["max_read_file_line"], kilo, bad, trusted))
    if "auto_truncate" in section:
        value = section["auto_truncate"]
        if not isinstance(value, bool):
            raise bad("contracts.kilo.auto_truncate", "must be true or false", "Write auto_truncate = true.")
        if not trusted and kilo.auto_truncate and not value:
            raise _raised("contracts.kilo.auto_truncate", bad)
        kilo = replace(kilo, auto_truncate=value)
    return replace(before, kilo=kilo)


def _threshold(value: object, before: KiloSetup, bad: Bad, trusted: bool) -> int:
    key = "contracts.kilo.max_read_file_line"
    if not isinstance(value, int) or isinstance(value, bool) or not (value == NEVER or 1 <= value <= _MOST):
        raise bad(
            key, f"{value!r} is no number of lines", f"Use a number from 1, or {NEVER} to truncate no file."
        )
    now = before.max_read_file_line
    if not trusted and now != NEVER and not 1 <= value <= now:
        raise _raised(key, bad)
    return value


def _raised(key: str, bad: Bad) -> Exception:
    return bad(
        key,
        "a file inside the workspace can only have less of a file shown",
        "Put it into the file that readroom is started with (--config).",
    )
