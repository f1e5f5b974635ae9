"""Every symbol that an outline names can be read by it, and the lines are those that the outline says."""

from __future__ import annotations

from readroom.core.stores.local import LocalStore
from tests.core.outline.outlining import FIXTURES, SAMPLES
from tests.each import each
from tests.laws.driving import Driver, fact, rows

NAMES = [path.name for path in SAMPLES]


@each("name", NAMES)
def test_every_symbol_of_an_outline_reads_the_lines_that_it_says(name: str) -> None:
    lines = (FIXTURES / name).read_text(encoding="utf-8").split("\n")
    driver = Driver(LocalStore(FIXTURES))
    outline = fact(driver.call("read_file", path=name, view="full_outline"), "outline")
    assert outline["left_out"] == 0
    assert outline["items"]
    for item in outline["items"]:
        start, end = item["start"], item["end"]
        reply = driver.call("read_file", path=name, symbol=item["name"], offset=start)
        assert not reply.is_error, reply.text
        symbol = fact(reply, "symbol")
        assert (symbol["start"], symbol["end"]) == (start, end), item
        assert rows(reply) == [f"{at}\t{lines[at - 1]}" for at in range(start, end + 1)], item
