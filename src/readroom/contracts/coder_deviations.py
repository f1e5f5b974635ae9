"""What coder's workspace agent does and this does not."""

from __future__ import annotations

from readroom.contracts.base import Deviation

DEVIATIONS = (
    Deviation(
        "coder.deviation.final_newline",
        "A final line feed begins one more, empty line, which is numbered and counted.",
        "A final line feed ends the last line and adds none.",
    ),
    Deviation(
        "coder.deviation.large_files",
        "A file that is too large is refused whatever is asked for, with advice to use offset and limit.",
        "It is refused when it is read whole, and served when offset or limit is given.",
    ),
    Deviation(
        "coder.deviation.cut_characters",
        "A long line is cut at a byte, also inside a character.",
        "It is cut between characters, at most at that byte.",
    ),
    Deviation(
        "coder.deviation.binary",
        "Files of any bytes are shown as text.",
        "A file that is no text, or has NUL bytes, is refused; its bytes have an address of their own.",
    ),
    Deviation(
        "coder.deviation.encodings",
        "Bytes that are no UTF-8 become marks, a byte order mark is a character of the first line.",
        "The encoding is detected, UTF-16 and legacy encodings are decoded, and the mark is not shown.",
    ),
    Deviation(
        "coder.deviation.confinement",
        "Every file that the agent's user may open is read and written.",
        "Only what lies in the workspace and policy allows, which by default denies credentials, keys and "
        "environment files such as `.env`; else it is `permission denied` with the reason.",
    ),
    Deviation(
        "coder.deviation.links",
        "write-file and edit-files follow symbolic links.",
        "They do where the operator lets changes follow links; else a link is refused.",
    ),
    Deviation(
        "coder.deviation.restored",
        "When one of several edited files cannot be written, those before it stay changed.",
        "All contents are written before any gets its name, and names given get their old content back.",
    ),
    Deviation(
        "coder.deviation.statuses",
        "list-directory answers 500 to a file, a relative path or an unknown relativity.",
        "It answers 400: the mistake is the client's.",
    ),
    Deviation(
        "coder.deviation.listing",
        "A listing has every name; relative paths begin in the user's home folder.",
        "Denied names are only counted, and a listing too large for a reply is cut; `notes` say so. "
        "The home folder is the workspace.",
    ),
    Deviation(
        "coder.deviation.strict_bodies",
        "Unknown fields of a body are ignored.",
        "They are refused, so that nothing that was asked for is silently left undone.",
    ),
    Deviation(
        "coder.deviation.workspace",
        "`workspace` names one of many, also with its owner and agent.",
        "Any name means the one workspace that is served.",
    ),
    Deviation(
        "coder.deviation.names",
        "Names stand in sentences as they are, and can be made to look like more of the sentence.",
        "A name that could be read so is quoted in sentences and lines; in fields it is as it is.",
    ),
)
