"""A ledger as a file for other programs: JSON Lines, CSV or Parquet, every column of every row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from readroom.errors import MissingProgram
from readroom.ledger.rows import COLUMNS, Row
from readroom.limits_keeping import LEDGER_PAGE_ROWS

FORMATS: Final = ("jsonl", "csv", "parquet")


def write_jsonl(rows: Iterable[Row], out: TextIO) -> int:
    """One JSON object a line; `arguments` and `shown` as the values they are. The number of rows."""
    count = 0
    for row in rows:
        told = dict(zip(COLUMNS, row.values(), strict=True))
        told["arguments"], told["shown"] = json.loads(row.event.arguments), json.loads(row.event.shown)
        out.write(json.dumps(told, separators=(",", ":")) + "\n")
        count += 1
    return count


def write_csv(rows: Iterable[Row], out: TextIO) -> int:
    """A line of names, then one line a row. The number of rows.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for row in rows:
        writer.writerow([_harmless(value) for value in row.values()])
        count += 1
    return count


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_parquet(rows: Iterable[Row], path: str) -> int:
    """A Parquet file. The number of rows. Raises MissingProgram where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingProgram("pyarrow", "pip install 'readroom[parquet]'") from None
    numbers = {"number", "time_us", "epoch", "tokens", "duration_us"}
    schema = pyarrow.schema(
        [(name, pyarrow.int64() if name in numbers else pyarrow.string()) for name in COLUMNS]
    )
    count = 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for page in _pages(rows):
            columns = list(zip(*(row.values() for row in page), strict=True))
            writer.write_table(pyarrow.table([list(one) for one in columns], schema=schema))
            count += len(page)
    return count


def _pages(rows: Iterable[Row]) -> Iterator[list[Row]]:
    page: list[Row] = []
    for row in rows:
        page.append(row)
        if len(page) == LEDGER_PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page
