"""The log says where something failed, never what was being read."""

from __future__ import annotations

import logging

from readroom.mcp.log_lines import Formatter


def _written(error: Exception) -> str:
    try:
        raise error
    except Exception as caught:
        record = logging.LogRecord(
            "readroom", logging.ERROR, __file__, 1, "it failed", (), (type(caught), caught, None)
        )
        record.exc_info = (type(caught), caught, caught.__traceback__)
        return Formatter().format(record)


def test_a_failure_is_logged_by_its_type_and_its_frames() -> None:
    written = _written(ValueError("the password is hunter2"))
    assert "ERROR readroom: it failed" in written
    assert "in _written" in written
    assert written.endswith("builtins.ValueError")


def test_the_message_of_an_exception_is_not_logged() -> None:
    assert "hunter2" not in _written(ValueError("the password is hunter2"))


def test_no_line_of_source_is_logged() -> None:
    """A program may have been given on a command line, with what nobody else should see."""
    written = _written(ValueError("x"))
    assert "raise error" not in written
    assert [line.split(",")[0] for line in written.split("\n")[1:-1]] == [f'  File "{__file__}"']


def test_nothing_is_added_without_an_exception() -> None:
    record = logging.LogRecord("readroom", logging.WARNING, __file__, 1, "careful: %s", ("x",), None)
    assert Formatter().format(record).endswith("WARNING readroom: careful: x")
