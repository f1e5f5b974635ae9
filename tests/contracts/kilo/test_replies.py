"""Kilo Code's read_file: which way of reading a call means, what it shows, what it says of the rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from readroom.contracts.kilo import NOTICE_BYTES as KILO_NOTICE_BYTES
from readroom.contracts.kilo import REPLY_BYTES as KILO_REPLY_BYTES
from readroom.core.contracts import contract
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.workspace import Workspace
from tests.contracts.kilo.calling import CODE, LINES, call, numbered, read, refused, room
from tests.each import each
from tests.laws.driving import fact

# --- which way of reading --------------------------------------------------------------------------


@pytest.mark.clause("kilo.path", "kilo.start_line", "kilo.end_line", "kilo.auto_truncate")
def test_it_is_one_tool_with_the_documented_arguments_and_one_of_ours() -> None:
    (tool,) = contract("kilo").tools
    assert tool.name == "read_file"
    schema = tool.input_schema
    assert list(schema["properties"]) == ["path", "start_line", "end_line", "auto_truncate", "column"]
    assert schema["required"] == ["path"]
    assert schema["properties"]["auto_truncate"] == {"type": "boolean"}
    assert "500" in tool.description


@pytest.mark.clause("kilo.range.portions", "kilo.priority.either", "kilo.example.range")
@each(
    ("lines", "shown"),
    [
        ({"start_line": 2, "end_line": 3}, (2, 3)),
        ({"start_line": 29}, (29, 30)),
        ({"end_line": 4}, (1, 4)),
        ({"start_line": 7, "end_line": 7}, (7, 7)),
        ({"start_line": 28, "end_line": 100}, (28, 30)),
        ({"start_line": "2", "end_line": "3"}, (2, 3)),
    ],
)
def test_a_range_shows_exactly_its_lines_and_says_nothing_else(
    lines: dict[str, Any], shown: tuple[int, int]
) -> None:
    assert read(room({"a.txt": LINES}), "a.txt", **lines) == numbered(*shown)


@pytest.mark.clause("kilo.priority.range", "kilo.truncate.no_range", "kilo.range_ignored")
@pytest.mark.parametrize("threshold", [-1, 1, 5])
def test_a_range_comes_first_whatever_else_is_said(threshold: int) -> None:
    space = room({"a.py": CODE}, max_read_file_line=threshold, auto_truncate=True)
    expected = "\n".join(f"{n} | {line}" for n, line in enumerate(CODE.split("\n")[1:40], 2))
    assert read(space, "a.py", start_line=2, end_line=40, auto_truncate=True) == expected


@pytest.mark.clause("kilo.truncate.asked", "kilo.truncate.threshold", "kilo.large.relevant")
def test_a_file_is_truncated_when_it_has_more_lines_than_the_threshold() -> None:
    space = room({"a.txt": LINES, "b.txt": LINES + "31\n"}, max_read_file_line=30)
    assert read(space, "a.txt", auto_truncate=True) == numbered(1, 30)
    assert read(space, "b.txt").startswith(f"{numbered(1, 30)}\n31 | 31")
    assert read(space, "b.txt", auto_truncate=False) == f"{numbered(1, 30)}\n31 | 31"
    expected = (
        f"{numbered(1, 30)}\n[... truncated 1 lines ...]\n"
        "[File truncated: showing 30 of 31 total lines. Use start_line=31 to read more.]"
    )
    for asked in (True, "true"):
        assert read(space, "b.txt", auto_truncate=asked) == expected


@pytest.mark.clause("kilo.truncate.default")
def test_a_setting_makes_truncation_the_default() -> None:
    space = room({"a.txt": LINES}, max_read_file_line=10, auto_truncate=True)
    assert "[... truncated 20 lines ...]" in read(space, "a.txt")
    assert "truncated" not in read(space, "a.txt", auto_truncate=False)
    (tool,) = space.tools("kilo")
    assert "the default" in tool.description
    assert "more than 10 lines" in tool.description


def test_a_threshold_of_minus_one_truncates_nothing() -> None:
    space = room({"a.txt": LINES * 100}, max_read_file_line=-1)
    assert "truncated" not in read(space, "a.txt", auto_truncate=True)
    (tool,) = space.tools("kilo")
    assert "auto_truncate" not in tool.description


@pytest.mark.parametrize("name", ["a.log", "a.csv", "a.min.js", "a.tsv", "a.out"])
def test_no_kind_of_file_has_a_window_of_its_own(name: str) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 2501))
    space = room({name: text})
    assert read(space, name) == numbered(1, 2500)
    assert read(space, name, start_line=2400) == numbered(2400, 2500)
    assert read(space, name, auto_truncate=True).startswith(numbered(1, 500) + "\n[... truncated 2000 lines")


# --- what is said of the rest ---------------------------------------------------------------------


@pytest.mark.clause(
    "kilo.truncate.definitions", "kilo.large.summaries", "kilo.truncate.notice", "kilo.definitions_shown"
)
def test_a_cut_lists_the_definitions_that_are_not_shown_down_to_members() -> None:
    space = room({"src/a.py": CODE}, max_read_file_line=3)
    reply = read(space, "src/a.py", auto_truncate=True)
    head, _, definitions = reply.partition("\n\n# ")
    assert head.endswith(
        "\n[... truncated 137 lines ...]\n"
        "[File truncated: showing 3 of 140 total lines. Use start_line=4 to read more.]"
    )
    listed = definitions.split("\n")
    assert listed[:4] == [
        "a.py", "5--6 |   def save(self)", "8--13 | class C1", "9--10 |   def load(self, a)"
    ]  # fmt: skip
    assert not any(line.startswith(("1--", "2--")) for line in listed)
    lines = CODE.split("\n")
    for row in listed[1:]:
        found = re.fullmatch(r"(\d+)--(\d+) \| +(?:class|def) (\w+).*", row)
        assert found is not None
        start, end = int(found[1]), int(found[2])
        assert found[3] in lines[start - 1]
        assert read(space, "src/a.py", start_line=start, end_line=end).count("\n") == end - start


def test_definitions_that_have_no_room_are_counted() -> None:
    space = room({"a.py": CODE * 40}, max_read_file_line=3)
    reply = read(space, "a.py", auto_truncate=True)
    assert re.search(r"\n\[\d+ more definitions are not listed\.\]\Z", reply)
    assert len(reply) < KILO_REPLY_BYTES


def test_a_source_whose_definitions_are_not_known_says_so() -> None:
    large = CODE + "# long enough\n" * 90_000
    space = room({"a.py": large, "a.zig": LINES, "a.txt": LINES}, max_read_file_line=3)
    said = "\n[No definitions are listed for the rest of this file.]"
    for path in ("a.py", "a.zig"):
        assert read(space, path, auto_truncate=True).endswith(said)
    assert said not in read(space, "a.txt", auto_truncate=True)
    assert said not in read(space, "a.py", start_line=4)


@pytest.mark.clause("kilo.whole_file_cap", "kilo.large.without_range", "kilo.default.whole")
def test_a_whole_file_beyond_the_cap_ends_at_a_line_and_names_the_next() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 10_001))
    space = room({"a.txt": text})
    reply = call(space, "a.txt")
    shown = re.search(r"showing (\d+) of 10000 total lines\. Use start_line=(\d+) to read more", reply.text)
    assert shown is not None
    last = int(shown[1])
    assert int(shown[2]) == last + 1
    assert reply.text.startswith(f"{numbered(1, last)}\n[... truncated {10_000 - last} lines ...]\n")
    assert KILO_REPLY_BYTES * 0.95 < len(reply.text.encode()) <= KILO_REPLY_BYTES
    assert fact(reply, "lines_shown") == {"start": 1, "end": last}
    assert fact(reply, "next") == {
        "tool": "read_file",
        "arguments": {"path": "a.txt", "start_line": last + 1},
    }
    again = call(space, "a.txt", start_line=last + 1, end_line=9000)
    assert " and end_line=9000 to read more" in again.text
    assert fact(again, "next")["arguments"]["end_line"] == 9000


@pytest.mark.clause("kilo.long_line")
def test_a_line_that_no_reply_holds_is_cut_between_characters_and_continued_by_column() -> None:
    line = "".join(chr(0x1F600 + at % 60) for at in range(30_000))
    space = room({"a.js": f"{line}\nend\n"})
    reply, found, column = call(space, "a.js"), "", 1
    assert "[File truncated: showing 1 of 2 total lines. Use start_line=2 to read more.]" in reply.text
    while True:
        found += reply.text.split("\n")[0].removeprefix("1 | ")
        more = re.search(r"Use start_line=1 and column=(\d+) to read more", reply.text)
        if more is None:
            break
        assert int(more[1]) > column
        column = int(more[1])
        reply = call(space, "a.js", start_line=1, column=column)
    assert found == line
    assert read(space, "a.js", start_line=2) == "2 | end"


def test_a_column_alone_is_one_of_the_first_line() -> None:
    space = room({"a.js": "abcdef\nuvw\n"})
    assert read(space, "a.js", column=4) == read(space, "a.js", column=4, end_line=1) == "1 | def"
    assert read(space, "a.js", column=2, start_line=2) == "2 | vw"


def test_an_operator_and_a_client_can_have_smaller_replies() -> None:
    text = "x" * 40 + "\n"
    space = room({"a.txt": text * 5000, "a.py": CODE * 50})
    for path in ("a.txt", "a.py"):
        reply = space.call("read_file", {"path": path}, contract_name="kilo", reply_bytes=MIN_REPLY_BYTES)
        assert len(reply.text.encode()) <= MIN_REPLY_BYTES
        assert "to read more.]" in reply.text


def test_notices_stay_within_the_room_that_is_kept_for_them() -> None:
    most = "9" * 16
    longest = [
        f"[Line {most} is cut: showing characters {most}-{most} of {most}. "
        f"Use start_line={most} and column={most} to read more.]",
        f"[... truncated {most} lines ...]",
        f"[File truncated: showing lines {most}-{most} of {most} total lines. "
        f"Use start_line={most} and end_line={most} to read more.]",
        "[No definitions are listed for the rest of this file.]",
        "", "# ", f"[{most} more definitions are not listed.]",
    ]  # fmt: skip
    assert len("\n".join(longest)) + 1 <= KILO_NOTICE_BYTES


def test_an_empty_file_says_so() -> None:
    space = room({"a": ""})
    assert read(space, "a") == read(space, "a", start_line=1) == read(space, "a", auto_truncate=True)
    assert read(space, "a") == "File is empty"
    assert refused(space, "a", start_line=2) == (
        "Error: start_line 2 is past the end of 'a', which is empty. Leave out start_line and end_line."
    )


# --- failures ---------------------------------------------------------------------------------------


@pytest.mark.clause("kilo.example.missing", "kilo.example.denied", "kilo.process.resolution")
def test_the_documented_failures_are_worded_as_documented() -> None:
    space = room({".kilocodeignore": ".env\nsecret/\n", ".env": "A=1", "secret/a": "canary", "src/a.py": "x"})
    assert refused(space, "non_existent_file.txt") == (
        "Error: File not found at path 'non_existent_file.txt'."
    )
    for path in (".env", "secret/a", "src/../secret/a", "./.env", ".kilocodeignore"):
        expected = f"Error: Access denied to file '{path}' due to .kilocodeignore rules."
        assert refused(space, path) == expected
    assert refused(space, "./src/b.py") == "Error: File not found at path './src/b.py'."
    assert fact(call(space, "./src/b.py"), "error")["next"]["arguments"] == {"path": "src/a.py"}


@pytest.mark.clause("kilo.denied_by_default")
@pytest.mark.parametrize("name", [".env", "sub/.env.local", "id_rsa", "key.pem"])
def test_credentials_are_denied_without_an_ignore_file_and_the_rule_is_named(name: str) -> None:
    told = refused(room({name: "hunter2"}), name)
    assert told.startswith(f"Error: Access denied to file '{name}' due to the rule ")
    assert "of defaults" in told
    assert "hunter2" not in told


@pytest.mark.clause("kilo.ignore_outside")
def test_what_other_rules_deny_and_what_is_outside_says_so(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / ".env").write_text("A=1", encoding="utf-8")
    with Workspace(tmp_path) as space:
        assert refused(space, ".env").startswith(
            "Error: Access denied to file '.env' due to the rule '.env' of"
        )
        for path in ("../x", "/etc/passwd", "out", "a/../../x"):
            assert refused(space, path).startswith(f"Error: Access denied to file '{path}': it is outside")
        (tmp_path / ".kilocodeignore").write_text("a\\", encoding="utf-8")
        assert refused(space, "x").startswith("Error: .kilocodeignore: line 1: ")


@pytest.mark.clause("kilo.directory")
def test_a_directory_is_no_file() -> None:
    text = refused(room({"src/a": ""}), "src")
    assert text.startswith("Error: Cannot read 'src' because it is a directory. ")
    assert "list_" not in text


@pytest.mark.clause("kilo.process.validation", "kilo.range_errors", "kilo.start_line_zero")
@each(
    ("lines", "words"),
    [
        ({"start_line": 0}, "Error: Invalid start_line value: "),
        ({"start_line": -3}, "Error: Invalid start_line value: "),
        ({"end_line": 0}, "Error: Invalid end_line value: "),
        ({"start_line": 1.5}, "Error: Invalid start_line value: "),
        ({"start_line": "three"}, "Error: Invalid start_line value: "),
        ({"auto_truncate": "perhaps"}, "Error: Invalid auto_truncate value: "),
        ({"column": 2, "end_line": 2}, "Error: Invalid column value: "),
        ({"column": 2, "start_line": 1, "end_line": 3}, "Error: Invalid column value: "),
        (
            {"start_line": 4, "end_line": 2},
            "Error: start_line (4) must be less than or equal to end_line (2). ",
        ),
        ({"start_line": 31}, "Error: start_line 31 is past the end of 'a.txt', which has 30 lines. "),
        ({"start_line": 31, "end_line": 40}, "Error: start_line 31 is past the end of 'a.txt', which has 30"),
    ],
)
def test_lines_that_make_no_sense_are_refused_in_numbers_from_one(lines: dict[str, Any], words: str) -> None:
    space = room({"a.txt": LINES})
    reply = call(space, "a.txt", **lines)
    assert reply.is_error
    assert reply.text.startswith(words)
    following = fact(reply, "error")["next"]
    assert following is None or not call(space, **following["arguments"]).is_error


def test_a_missing_path_is_named() -> None:
    reply = room({}).call("read_file", {}, contract_name="kilo")
    assert reply.text == "Error: read_file needs the argument 'path'. Call read_file again with 'path'."
