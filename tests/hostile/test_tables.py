"""None of the hostile databases and tables takes more than 256 MB or hardly more time than it is given, and
none ends the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from readroom.core.limits import REPLY_BYTES
from tests.hostile.asked import WAYS
from tests.hostile.tables import FILES
from tests.pace import pace
from tests.peak import REPO
from tests.suites import parts

pytestmark = pytest.mark.long

MOST_BYTES = 256 * 1024 * 1024
GIVEN_S = 3
"""What goes on without an end takes all the processor time it is given: less than by default."""

MOST_S = GIVEN_S + 2.0
"""Both on a machine of today."""

READABLE = {
    ("cut.sqlite", "first"): "It is cut short: it has 121,514 of 364,544 bytes.",
    ("claimed-pages.sqlite", "first"): "damaged",
    ("circular-tree.sqlite", "first"): "damaged",
    ("endless-views.sqlite", "plain"): "a (cannot be read)",
    ("endless-views.sqlite", "first"): "words",
    ("many-tables.sqlite", "plain"): "of 2000",
    ("damaged-definitions.sqlite", "plain"): "Definitions in its schema are damaged",
    ("noise0.sqlite", "first"): "and the rest cannot be read: it is damaged",
    ("freelist.sqlite", "first"): "word 9",
    ("other-module.sqlite", "plain"): "v (cannot be read)",
    ("nul.sqlite", "first"): "a\\u0000b",
    ("bomb.sqlite.gz", "first"): "Read an unpacked copy.",
    ("cut.parquet", "first"): "damaged or cut short",
    ("encrypted.parquet", "first"): "encrypted",
    ("bomb.parquet", "first"): "more memory than documents get. Pick fewer columns.",
    ("more-rows.parquet", "first"): "[It claims to have 63 rows: rows from 4 on cannot be read.]",
    ("zones.parquet", "first"): "2001-09-09 01:46:40.123456789+00:00",
    ("many-rows.parquet", "end"): "of 60000000",
    ("many-columns.parquet", "first"): "c0 int8",
    ("cut.avro", "first"): "word 1",
    ("fewer-rows.avro", "first"): "A block has 12 bytes after the rows that it claims to have.",
    ("more-rows.avro", "first"): "[It claims to have 3 rows: rows from 2 on cannot be read.]",
    ("negative-rows.avro", "first"): "It is damaged or cut short at byte",
    ("schema.avro", "first"): "its schema cannot be read",
    ("codec.avro", "first"): "compressed with lz4, which is not supported",
    ("bomb.avro", "first"): "more memory than documents get",
    ("only-mark.avro", "first"): "damaged or cut short",
    ("cut.arrow", "first"): "damaged or cut short",
    ("bomb.arrow", "first"): "more memory than documents get",
    ("deep.jsonl", "first"): "Not JSON, shown as text: lines 2, 3.",
    ("long.jsonl", "first"): "a line of more than 4,194,304 characters ends its rows",
    ("number.jsonl", "first"): "more words",
    ("wide.csv", "first"): "ends its rows",
    ("formulas.csv", "first"): "words",
    ("bomb.csv.gz", "first"): "rows 1-2000 of",
}
"""What is to be seen of some of them, or said."""


@pytest.fixture(scope="module", params=parts(FILES, 12))
def asked(request: pytest.FixtureRequest) -> list[str]:
    """The names of some of the tables."""
    return list(request.param)


@pytest.fixture(scope="module")
def outcomes(
    asked: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], dict[str, Any]]:
    """How each call went, by name and way; by ("", "") what all of them took."""
    folder = tmp_path_factory.mktemp("hostile")
    _run("tests.hostile.tables", folder, *asked)
    (folder / "plain.txt").write_text("still here\n", encoding="utf-8")
    (folder / "readroom.toml").write_text(
        f"[limits]\ndocument_timeout_s = {min(8.0, GIVEN_S * pace()):.1f}\n", encoding="utf-8"
    )
    lines = _run("tests.hostile.asked", folder).splitlines()
    return {(found["name"], found.get("way", "")): found for found in map(json.loads, lines)}


def _run(module: str, folder: Path, *names: str) -> str:
    command = [sys.executable, "-m", module, str(folder), *names]
    done = subprocess.run(command, cwd=REPO, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


def test_hostile_tables_are_bounded(
    asked: list[str], outcomes: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """Every call is answered, with a table or a typed refusal, within its bounds of memory, time and size."""
    all_of_them = outcomes["", ""]
    assert {place for place in outcomes if place[0] in FILES} == set(product(asked, WAYS))
    assert max(all_of_them["children_bytes"], all_of_them["own_bytes"]) < MOST_BYTES
    assert "1\tstill here" in all_of_them["plain"]
    for place, found in outcomes.items():
        if not place[0]:
            continue
        assert found["cpu_s"] <= MOST_S * pace(), place
        assert found["code"] != "internal", place
        assert found["bytes"] <= REPLY_BYTES, place
        assert "Traceback" not in found["text"], place
        if found["code"] is not None:
            assert found["text"].isprintable(), place


def test_what_can_be_read_is_read_and_the_rest_is_said(
    outcomes: dict[tuple[str, str], dict[str, Any]],
) -> None:
    assert {name for name, _ in READABLE} <= set(FILES)
    for place in READABLE.keys() & outcomes.keys():
        assert READABLE[place] in outcomes[place]["text"], (place, outcomes[place]["text"])


def test_encrypted_and_damaged_are_told_apart(
    asked: list[str], outcomes: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """A key helps with the one, another copy with the other."""
    codes = {name: outcomes[name, "first"]["code"] for name in asked}
    assert {name for name in asked if codes[name] == "encrypted"} == {"encrypted.parquet"} & set(asked)
    damaged = {"cut.parquet", "cut.arrow", "damaged-schema.sqlite"} & set(asked)
    assert {name: codes[name] for name in damaged} == dict.fromkeys(damaged, "bad_document")
