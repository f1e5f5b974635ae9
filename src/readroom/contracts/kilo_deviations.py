"""What Kilo Code does and this contract does not, and what it does instead."""

from __future__ import annotations

from readroom.contracts.base import Deviation

DEVIATIONS = (
    Deviation(
        "kilo.whole_file_cap",
        "A file is returned whole, however large it is.",
        "A reply ends at a line where its cap is reached; the next start_line is named.",
    ),
    Deviation(
        "kilo.long_line",
        "A line of any length is returned whole.",
        "A line that no reply holds is cut between characters; the argument column shows its rest.",
    ),
    Deviation(
        "kilo.padding",
        "Numbers are padded to the widest of the window, and the last line has an end.",
        "Numbers are not padded and nothing follows the last line, as documented.",
    ),
    Deviation(
        "kilo.range_errors",
        "Errors about lines count from 0.",
        "They count from 1 as the caller does, and name the lines that there are.",
    ),
    Deviation(
        "kilo.start_line_zero",
        "Line 0 is the first line with a wrong number; a negative line is the first.",
        "Both are refused.",
    ),
    Deviation(
        "kilo.range_ignored",
        "With maxReadFileLine -1 a range is ignored.",
        "A range always comes first, as documented.",
    ),
    Deviation(
        "kilo.definitions_shown",
        "Definitions are listed where they begin in what is shown.",
        "Definitions are listed where they begin in what is not shown, down to members.",
    ),
    Deviation(
        "kilo.line_ends",
        "A CR before a line feed is kept in a range, and dropped in a whole file.",
        "It is dropped in both.",
    ),
    Deviation(
        "kilo.characters",
        "A character whose bytes lie on both sides of a block is destroyed in a range.",
        "Characters stay whole.",
    ),
    Deviation(
        "kilo.notebook_lines",
        "Lines of a notebook are doubled, or its JSON is shown.",
        "The source of its cells is shown, each line once. JSON that is no notebook is shown as it is.",
    ),
    Deviation(
        "kilo.numbered_twice",
        "Extracted text can be numbered twice.",
        "It is numbered once.",
    ),
    Deviation(
        "kilo.ignore_outside",
        "Paths outside the workspace are allowed by .kilocodeignore, and so is everything when it fails.",
        "Paths outside are refused; while the file cannot be used, nothing can be read.",
    ),
    Deviation(
        "kilo.directory",
        "The error about a directory names the tool list_files.",
        "It names no tool, since this contract has none for that.",
    ),
    Deviation(
        "kilo.denied_by_default",
        "Only .kilocodeignore keeps files from being read.",
        "Credentials, keys and environment files such as `.env` are denied without it, and the error names "
        "the rule; an operator takes names out with `exceptions` in `[policy]`.",
    ),
    Deviation(
        "kilo.names",
        "Names stand in sentences as they are, and can be made to look like more of the sentence.",
        "A name that could be read so is quoted in sentences and lines; in fields it is as it is.",
    ),
)
