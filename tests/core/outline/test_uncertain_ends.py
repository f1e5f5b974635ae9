"""Where a parser stumbles, the end of a definition is not given out as if it were known."""

from __future__ import annotations

import pytest

from readroom.core.errors import UnknownSymbol
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.laws.driving import Driver, fact

OLD_C = """\
int first(int a) {
    return a;
}

/* Parameters declared as they were before the standard. */
char * EXPORTED next_line(file, buf, len)
    stream file;
    char *buf;
    int len;
{
    unsigned left, n;
    if (file == 0) {
        return 0;
    }
    left = len - 1;
    if (left) do {
        n = left;
        left -= n;
    } while (left);
    return buf;
}

int last(int a) {
    return a + 1;
}
"""

MACROS = """\
DECLARE(hidden_name,
    int size)
BEGIN {
    return 1;
}
int last(int a) {
    return hidden_name(0);
}
"""


@pytest.fixture
def driver() -> Driver:
    return Driver(MemoryStore({"old.c": OLD_C.encode(), "macros.c": MACROS.encode()}))


def test_a_body_is_not_cut_where_the_parser_lost_its_way(driver: Driver) -> None:
    reply = driver.call("read_file", path="old.c", symbol="next_line")
    shown = fact(reply, "lines_shown")
    assert (shown["start"], shown["end"]) == (5, 21)
    assert "\n21\t}\n" in reply.text


def test_an_end_that_is_not_certain_is_marked_in_outlines_and_said_in_reads() -> None:
    text = OLD_C.replace("{\n    unsigned", "{\nunsigned").replace("    return buf;\n}", "return buf; }")
    driver = Driver(MemoryStore({"old.c": text.encode()}))
    outline = driver.call("read_file", path="old.c", view="outline")
    assert "does not parse" not in outline.text
    assert "it has syntax errors, the first in line 6" in outline.text
    certain = {item["name"]: item["certain"] for item in fact(outline, "outline")["items"]}
    assert certain == {"first": True, "next_line": False, "last": True}
    (row,) = [line for line in outline.text.split("\n") if "next_line" in line]
    assert row.startswith("5-21? ")
    reply = driver.call("read_file", path="old.c", symbol="next_line")
    assert fact(reply, "symbol")["certain"] is False
    # Too much rather than too little: all up to the next definition that is certain.
    assert (fact(reply, "lines_shown")["start"], fact(reply, "lines_shown")["end"]) == (5, 21)
    assert "Warning: end uncertain (lines 5-21: where it ends is not certain, since line 6" in reply.text


def test_a_name_in_a_file_that_does_not_parse_is_found_in_its_text(driver: Driver) -> None:
    reply = driver.call("read_file", path="macros.c", symbol="hidden_name")
    assert reply.is_error
    error = fact(reply, "error")
    assert error["code"] == "unknown_symbol"
    assert "defines no" not in reply.text
    assert "The name appears in lines 1 and 7." in reply.text
    shown = driver.follow(error["next"])
    assert "DECLARE(hidden_name," in shown.text.split("\n")[1]


def test_a_name_that_is_nowhere_is_said_to_be_undefined(driver: Driver) -> None:
    for path in ("macros.c", "old.c"):
        reply = driver.call("read_file", path=path, symbol="no_such_name")
        assert "defines no 'no_such_name'" in reply.text


def test_the_lines_are_facts_of_the_error_in_the_library() -> None:
    with Workspace(MemoryStore({"a.c": MACROS.encode()})) as space, pytest.raises(UnknownSymbol) as caught:
        space.read("a.c", symbol="hidden_name")
    assert caught.value.facts["lines"] == [1, 7]
