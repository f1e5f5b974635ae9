"""Show which commit last changed each line of a file."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core import errors
from readroom.core.engine.git.asked import GitQuestion, asked, patience
from readroom.core.engine.revision import at
from readroom.core.engine.services import Job, Services
from readroom.core.limits import HEAD_BYTES, MAX_WARNINGS
from readroom.core.repository.process import GIT_BLOB_BYTES
from readroom.core.repository.trees import FOLDER, LINK, SUBMODULE
from readroom.core.text import encodings, hidden
from readroom.core.values.files import Warn
from readroom.core.values.git import BlameAnswer, BlamedLines, GitBlameRequest, GitBlameResult

BLAMED = 400
"""Lines of one reply without a range."""


def perform(services: Services, job: Job[GitBlameRequest]) -> GitBlameResult:
    """The last change of each line.

    Raises:
        Denied, NotFound, NotAFile, DeniedContent, TooLarge: From opening the file.
        NoRepository, RepositoryRefused, NoSuchRevision, RepositoryFailed, MissingProgram: From git.
        BadValue: The lines are not in the file.
    """
    request = job.request
    about = asked(services, request.path, job.deadline)
    revision = about.revision(request.revision or "HEAD")
    data = _bytes(services, about, request)
    inner = about.inner
    first, last = request.lines or (1, BLAMED)
    last = min(last, first + BLAMED - 1)
    if not data:
        return GitBlameResult(about.path, 0, ())
    known = None
    if request.revision is None:
        node = about.repository.tree(revision.tree, job.deadline).node(inner)
        if node is None or node.mode in (FOLDER, LINK, SUBMODULE):
            total = data.count(b"\n") + (not data.endswith(b"\n"))
            lines = [BlamedLines(first, min(last, total), None, first)] if first <= total else []
            texts = _texts(data, first, last)
            told = hidden.scan(texts, first, limit=MAX_WARNINGS)
            return GitBlameResult(about.path, total, lines, texts=texts, warnings=told)
        known = _known(services, about, data, about.repository.blob(node.id, job.deadline))
    answer = about.repository.blame(
        revision.commit.id, inner, (first, last), known, patience(job.deadline), job.deadline
    )
    if first > answer.total:
        raise errors.BadValue(
            "lines", f"{first}-{last}", f"are not in the file, which has {answer.total:,}", "Send others."
        )
    lines = _lines(about, answer)
    texts = _texts(data, first, last)
    commits = [commit for line in lines if (commit := line.commit) is not None]
    said = (text for commit in commits for text in (commit.subject, commit.author))
    warnings = hidden.scan(texts, first, limit=MAX_WARNINGS) + hidden.in_names(said, limit=MAX_WARNINGS)
    if any(row.commit is not None and row.commit.is_end for row in lines):
        words = "this is a shallow clone: lines of its oldest commits may be older, and nothing is fetched"
        warnings.append(Warn("shallow", words))
    return GitBlameResult(about.path, answer.total, lines, answer.left, answer.reached, texts, warnings)


def _bytes(services: Services, about: GitQuestion, request: GitBlameRequest) -> bytes:
    """The bytes of the file, opened under the rules as any other read."""
    if request.revision is None:
        with services.guard.open(about.path) as source:
            if source.real != about.path:
                raise errors.NotAFile(about.path, "link")
            if source.size > GIT_BLOB_BYTES:
                raise errors.TooLarge(
                    about.path, source.size, GIT_BLOB_BYTES, "bytes", "Name a revision, or ask the user."
                )
            return source.read_at(0, source.size)
    revision = about.revision(request.revision)
    guard, path = at(services.guard, about.repository, revision, about.path, about.deadline)
    with guard.open(path) as source:
        if source.real != path:
            raise errors.NotAFile(about.path, "link")
        return source.read_at(0, source.size)


def _known(services: Services, about: GitQuestion, data: bytes, committed: bytes) -> bytes:
    """The file as git is to take it, from its view and from what was committed.

    A secret that is another one than the committed one must not be known by it: lines that look the same are.
    """
    shown = services.guard.as_shown(committed)
    found = as_committed(data, shown)
    if not services.guard.masks or (shown == committed and b"\x7f" not in found):
        return found
    if found == shown:
        return committed
    problem = "it has masked secrets and is not as it was committed"
    raise errors.BadValue("revision", "", problem, "Name a revision, such as HEAD.")


def as_committed(data: bytes, committed: bytes) -> bytes:
    """A file with the line ends that git keeps of it: those of Windows belong to the folder."""
    if b"\r\n" in data and b"\r\n" not in committed:
        return data.replace(b"\r\n", b"\n")
    return data


def _lines(about: GitQuestion, answer: BlameAnswer) -> list[BlamedLines]:
    lines = []
    for row in answer.rows:
        commit = answer.commits[row.commit] if 0 <= row.commit < len(answer.commits) else None
        path = answer.paths[row.path] if 0 <= row.path < len(answer.paths) else about.inner
        other = None if path == about.inner or not about.allows(path) else about.named(path)
        lines.append(BlamedLines(row.first, row.first + row.count - 1, commit, row.line, other))
    return lines


def _texts(data: bytes, first: int, last: int) -> Sequence[str]:
    """The lines as text, if they are."""
    encoding = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
    if encoding is None or encoding.name.startswith(("utf-16", "utf-32")):
        return ()
    rows = data.split(b"\n")[first - 1 : last]
    return [encodings.visible(encodings.decode(row, encoding)).removesuffix("\r") for row in rows]
