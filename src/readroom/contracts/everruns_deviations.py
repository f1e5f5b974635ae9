"""What the original of the Everruns contract does and ours does not."""

from __future__ import annotations

from readroom.contracts.base import Deviation

DEVIATIONS = (
    Deviation(
        "everruns.deviation.ignored-numbers",
        "An offset or limit that is negative, a fraction or no number counts as not given.",
        "It is refused with a sentence that says what it has to be.",
    ),
    Deviation(
        "everruns.deviation.limit-zero",
        "A limit of 0 shows nothing and names the same offset again.",
        "It is refused.",
    ),
    Deviation(
        "everruns.deviation.cap-moves-no-offset",
        "Where the byte cap cuts, lines_shown and next_offset are those before the cut.",
        "They are those of what is really shown; the cut falls between lines.",
    ),
    Deviation(
        "everruns.deviation.long-line",
        "The rest of a line that alone is longer than the byte cap cannot be read.",
        "next_column and the hint name the argument column, with which it is read.",
    ),
    Deviation(
        "everruns.deviation.tail",
        "The tail of a longer log says that it is not truncated.",
        "It is truncated; not_shown says which lines, and the hint begins with the first.",
    ),
    Deviation(
        "everruns.deviation.types-on-the-wire",
        "content_type and read_mode are sent for some files only.",
        "They are always sent, as its document has them.",
    ),
    Deviation(
        "everruns.deviation.binary-content",
        "Of binary files only facts are sent.",
        "Their base64 is sent up to the byte cap, as its document has it.",
    ),
    Deviation(
        "everruns.deviation.legacy-encodings",
        "Text that is not UTF-8 is a binary file.",
        "Its encoding is found out, and it is read and edited as text.",
    ),
    Deviation(
        "everruns.deviation.half-shown-class",
        "A class that begins in the shown lines is left out of the outline with all its members.",
        "Its members that are not shown are listed.",
    ),
    Deviation(
        "everruns.deviation.ignore-files",
        "A search looks into every file.",
        "It passes over what ignore files name, and says so when it finds nothing. Listings show it.",
    ),
    Deviation(
        "everruns.deviation.no-rebase",
        "An edit against a stale hash is tried on the present content.",
        "It is rejected, as its document has it; rebased is always false.",
    ),
    Deviation(
        "everruns.deviation.line-ends",
        "New text gets CRLF where the file has any.",
        "New text gets the line ends of the place.",
    ),
    Deviation(
        "everruns.deviation.created",
        "created is true for a file that was replaced, too.",
        "It is true only for a new file.",
    ),
    Deviation(
        "everruns.deviation.unchanged-edit",
        "An edit whose new_text is its old_text is applied.",
        "It is refused: it changes nothing.",
    ),
    Deviation(
        "everruns.deviation.outline-members",
        "Fields of classes are listed; what traits, interfaces and modules hold is not.",
        "Functions are listed wherever they are defined, fields that hold none are not.",
    ),
    Deviation(
        "everruns.deviation.denied-by-default",
        "Every file of a session can be read.",
        "Credentials, keys and environment files such as `.env` are denied by default, since a workspace is "
        "a folder of somebody's; an operator takes names out with `exceptions` in `[policy]`.",
    ),
    Deviation(
        "everruns.deviation.commands-beside-denied",
        "Commands create and remove files everywhere in the session.",
        "Where Landlock confines commands, nothing can be created or removed directly in a folder that holds "
        "a denied file, such as a root with `.env`; a note says so. bubblewrap has no such limit.",
    ),
    Deviation(
        "everruns.deviation.kept-bytes",
        "Of each stream 1 MiB is kept, and a line at its end says that the rest is lost.",
        "Of each stream 32 MiB are kept, half from its beginning and half from its end; a line between them "
        "says how much is not.",
    ),
    Deviation(
        "everruns.deviation.created-at",
        "stat_file says when a file was created.",
        "created_at is null: most systems do not tell.",
    ),
    Deviation(
        "everruns.deviation.read-many",
        "Newer versions offer read_many_files for 2 to 10 paths in one call.",
        "It is not offered; several calls of read_file can be sent at once.",
    ),
    Deviation(
        "everruns.deviation.full-output",
        'With output="full" all output is in the result.',
        "A result ends at the cap of replies; all of it stands in the kept output, which the result names.",
    ),
    Deviation(
        "everruns.deviation.names",
        "Names stand in sentences as they are, and can be made to look like more of the sentence.",
        "A name that could be read so is quoted in sentences and lines; in fields it is as it is.",
    ),
)
