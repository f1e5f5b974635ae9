"""The calls of inspect_agents for requests: what its hints are made of."""

from __future__ import annotations

from readroom.changes import EditRequest, WriteRequest
from readroom.contracts.inspect_keys import key_of_path, key_sendable
from readroom.model import Call, Fact, ReadRequest, Request
from readroom.quoting import as_value

READ = "read_file"
FILES = "files"


def to_call(request: Request, *, in_store: bool) -> Call:
    """The call for a request; for what no tool of this contract can do, the list of files."""

    def name(path: str) -> str:
        return key_sendable(key_of_path(path)) if in_store else as_value(path)

    match request:
        case ReadRequest():
            found: dict[str, Fact] = {"file_path": name(request.path)}
            if (request.offset or 1) > 1:
                found["offset"] = (request.offset or 1) - 1
            if request.limit is not None:
                found["limit"] = request.limit
            return Call(READ, found)
        case WriteRequest():
            return _files("write", file_path=name(request.path), content=request.content)
        case EditRequest() if len(request.edits) == 1:
            one = request.edits[0]
            given: dict[str, Fact] = {"old_string": one.old_text, "new_string": one.new_text}
            if one.replace_all:
                given["replace_all"] = True
            if request.dry_run:
                given["dry_run"] = True
            return _files("edit", file_path=name(request.path), **given)
    return _files("ls")


def _files(command: str, **given: Fact) -> Call:
    return Call(FILES, {"params": {"command": command, **given}})
