"""Names and bytes by commands: what is along a path, in a folder, in a tree, in a part of a file."""

from __future__ import annotations

import hashlib
import os
import stat as modes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from readroom.core.errors import NoPermission, NotAFolder, NotFound, StoreFailed
from readroom.core.paths import ROOT, WorkPath
from readroom.core.stores.base import Change, Leftover
from readroom.core.stores.environment.base import (
    CELL_BYTES,
    HASHED_BYTES,
    Environment,
    Seen,
    Trace,
    failed,
    kind_of,
)
from readroom.core.stores.environment.scripts import ENTER, NO_ROOT, PROGRAMS, Answer, Talk, escaped
from readroom.core.values import EntryKind, Stat, Version

_NO_FOLDER = 94
_CLOSED = 93
_OTHER = 92
_GONE = 91

_PATH = 'path=$(un "$2"); path=${path%.}; path=.${path:+/$path}\n'

_START = f"""
for tool in {PROGRAMS}; do command -v "$tool" >/dev/null || printf '%s ' "$tool"; done
printf '\\0'
case $(stat -c %.9Y /) in *[0-9].[0-9]*) printf fine;; *) stat -c %Y / && printf coarse;; esac
printf '\\0'
case $(find / -maxdepth 0 -printf %T@) in *[0-9].[0-9]*) printf all;; esac
printf '\\0'
printf x | grep -qaF x && case $(grep --version) in *GNU*) printf gnu;; esac
printf '\\0'
"""

_TRACE = (
    ENTER
    + r"""
want=$3 form=$4
rest=$(un "$2"); rest=${rest%.}
set -- .; at=.
while [ -n "$rest" ]; do
  case $rest in */*) part=${rest%%/*}; rest=${rest#*/};; *) part=$rest; rest=;; esac
  at=$at/$part; set -- "$@" "$at"
  [ -L "$at" ] && break
done
stat -c "$form" -- "$@" ||
  case $(stat -c "$form" -- "$at" 2>&1) in *ermission\ denied*) printf 'closed\n';; esac
printf '\0'
[ -L "$at" ] && readlink -n -- "$at"
printf '\0'
if [ "$want" -gt 0 ] && [ -f "$at" ] && [ ! -L "$at" ]; then
  if [ "$(stat -c %s -- "$at")" -le "$want" ]; then printf 'head\0'; head -c "$want" -- "$at" || return 93
  printf '\0'; stat -c "$form" -- "$at"; fi
fi
"""
)

_NAMES = (
    ENTER
    + _PATH
    + f"""
[ -L "$path" ] && return {_NO_FOLDER}
[ -d "$path" ] || {{ [ -e "$path" ] && return {_NO_FOLDER}; return {_GONE}; }}
[ -r "$path" ] && [ -x "$path" ] || return {_CLOSED}
real "$path" || return {_GONE}
"""
)

_FAST = "%y %m %s %T@ %C@ %i %D %n\\0%P\\0%l\\0"
_LISTED = _NAMES + f"find \"$path\" -mindepth 1 $3 -printf '{_FAST}'\n"
_LISTED_SLOWLY = (
    _NAMES
    + """
find "$path" -mindepth 1 $3 -exec sh -c '
form=$1 top=$2; shift 2
for one do
  stat -c "$form" -- "$one" || continue
  printf "\\0%s\\0" "${one#"$top"/}"; [ -L "$one" ] && readlink -n -- "$one"; printf "\\0"
done' sh "$4" "$path" {} +
"""
)

_CELLS = (
    ENTER
    + _PATH
    + f"""
[ -f "$path" ] && [ ! -L "$path" ] || return {_GONE}
[ "$(stat -c '%i %d' -- "$path")" = "$3" ] || return {_GONE}
dd if="$path" bs={CELL_BYTES} skip="$4" count="$5" || return {_CLOSED}
[ "$(stat -c '%i %d' -- "$path")" = "$3" ] || return {_GONE}
"""
)

_HASH = ENTER + _PATH + 'sha256sum < "$path" | cut -c 1-64\n'

_HOLDING = (
    ENTER
    + _PATH
    + f"""
text=$(un "$3"); text=${{text%.}}
grep -rlaZF $4 -e "$text" -- "$path"; [ $? -le 1 ] || return {_OTHER}
grep -rLIZ -e '' -- "$path"; [ $? -le 1 ] || return {_OTHER}
"""
)
"""Files with the text; and those with a NUL, which may be in another encoding, and empty ones."""


class Shell:
    """Files by commands. Safe to share between threads."""

    sees_links = True

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.talk = Talk(environment)
        self.root = ""
        self.form = ""
        self.fine = True
        self._fast = True
        self._greps = False
        self.left: list[Leftover] = []
        self._told: set[WorkPath] = set()
        self._endings: list[Callable[[], None]] = []
        self._ending = threading.RLock()
        self._ends = False

    def start(self) -> str:
        """The absolute path of the root. Raises StoreFailed if a program is missing."""
        root = self.environment.working_dir()
        parts = self.talk.ask(_START).data.split(b"\0")
        if len(parts) != 5:
            raise failed(self.environment.name, "its shell gives an answer that is none")
        missing, fine, fast, greps = (part.decode("ascii", "replace").strip() for part in parts[:4])
        if missing:
            raise failed(
                self.environment.name,
                f"it has no {missing.replace(' ', ', ')}",
                "Ask the user to install coreutils and findutils there.",
            )
        self.fine, self._fast, self._greps = fine == "fine", fast == "all", greps == "gnu"
        self.form = "%f %s %.9Y %.9Z %i %d %h" if self.fine else "%f %s %Y %Z %i %d %h"
        self.root = root
        self.trace(ROOT)
        return root

    def ask(self, path: WorkPath, body: str, *arguments: str, once: bool = False) -> Answer:
        """The answer of a script that begins in the root; $2 is the path, and `once` as of `Talk.ask`."""
        if self._endings:
            self._end()
        name = "" if path == ROOT else path
        answer = self.talk.ask(body, escaped(self.root), escaped(name), *arguments, once=once)
        if answer.code == NO_ROOT:
            raise self._without_root()
        if answer.code == _NO_FOLDER:
            raise NotAFolder(path, "file")
        if answer.code == _CLOSED:
            raise NoPermission(path)
        if answer.code == _GONE:
            raise NotFound(path)
        return answer

    def tell(self, left: Leftover) -> None:
        """Have it said once what an interrupted change has left."""
        if left.path not in self._told:
            self._told.add(left.path)
            self.left.append(left)

    def later(self, ending: Callable[[], None]) -> None:
        """Do something before anything else is asked; if it fails, it is left to the next time."""
        self._endings.append(ending)

    def _end(self) -> None:
        with self._ending:
            if self._ends:
                return  # what an ending asks itself
            self._ends = True
            try:
                while self._endings:
                    self._endings[0]()
                    del self._endings[0]
            finally:
                self._ends = False

    def _without_root(self) -> StoreFailed:
        advice = "Ask the user to start the sandbox again."
        return failed(self.environment.name, f"its folder {self.root} is gone", advice)

    def trace(self, path: WorkPath, *, head: bool = False) -> Trace:
        """The names along a path, up to the first that is a link or is not there."""
        answer = self.ask(path, _TRACE, str(CELL_BYTES // 2 if head else 0), self.form)
        lines, target, *rest = answer.data.split(b"\0", 2)
        rows = lines.decode("ascii", "replace").removesuffix("\n").split("\n")
        closed = rows[-1:] == ["closed"]
        names = [self._seen(row.split(), "") for row in (rows[:-1] if closed else rows) if row]
        # A name behind a link is none that was asked for.
        for at, seen in enumerate(names):
            if seen.kind is EntryKind.LINK:
                names = [*names[:at], Seen(seen.stat, seen.version, os.fsdecode(target))]
                break
        if not names:
            raise self._without_root()
        return self._hashed(path, names, Trace(names, closed, self._head(names, rest)))

    def _head(self, names: Sequence[Seen], rest: Sequence[bytes]) -> bytes | None:
        """The bytes of a small file, if it was the same before and after they were read."""
        if not rest or not rest[0].startswith(b"head\0"):
            return None
        data, _, after = rest[0][len(b"head\0") :].rpartition(b"\0")
        now = self._seen(after.decode("ascii", "replace").split(), "")
        return data if now.stat == names[-1].stat and len(data) == now.stat.size else None

    def _hashed(self, path: WorkPath, names: Sequence[Seen], trace: Trace) -> Trace:
        """With the hash of the file at the end where times have no fractions, which tell states apart."""
        last = names[-1]
        at_end = len(names) == path.count("/") + (1 if path == ROOT else 2)
        if self.fine or not at_end or last.kind is not EntryKind.FILE or last.stat.size > HASHED_BYTES:
            return trace
        if trace.head is not None:
            digest = hashlib.sha256(trace.head).hexdigest()
        else:
            digest = self.ask(path, _HASH).data.decode("ascii", "replace").strip()
        if len(digest) != 64:
            raise NoPermission(path)
        version = Version(*_without_ctime(last.version), int(digest[:15], 16))
        return Trace([*names[:-1], Seen(last.stat, version)], trace.closed, trace.head)

    def names(self, folder: WorkPath) -> Mapping[str, Seen]:
        """The names in a folder. Raises StoreFailed if they are too many."""
        answer = self._found(folder, "-maxdepth 1")
        if not answer.whole:
            raise StoreFailed(
                folder,
                "it has more names than are listed through a sandbox",
                "Ask for a folder inside it, or for a path.",
            )
        return dict(self._records(answer.data))

    def tree(self, top: WorkPath) -> Mapping[str, Mapping[str, Seen]] | None:
        """The names in all folders below one."""
        if not self._fast:
            return None
        answer = self._found(top, "")
        if not answer.whole or answer.code:
            return None  # a folder that is closed is told when it is opened
        found: dict[str, dict[str, Seen]] = {"": {}}
        for path, seen in self._records(answer.data):
            above, _, name = path.rpartition("/")
            found.setdefault(above, {})[name] = seen
            if seen.kind is EntryKind.FOLDER:
                found.setdefault(path, {})
        return found

    def _found(self, folder: WorkPath, depth: str) -> Answer:
        return self.ask(folder, _LISTED if self._fast else _LISTED_SLOWLY, depth, self.form)

    def _records(self, data: bytes) -> Iterator[tuple[str, Seen]]:
        fields = data.split(b"\0")
        for row, name, target in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            words = row.decode("ascii", "replace").split()
            if self._fast:
                letter, mode, *others = words
                kind = {"f": modes.S_IFREG, "d": modes.S_IFDIR, "l": modes.S_IFLNK}.get(letter, 0)
                words = [f"{kind | int(mode, 8):x}", *others]
            yield os.fsdecode(name), self._seen(words, os.fsdecode(target))

    def _seen(self, words: Sequence[str], target: str) -> Seen:
        try:
            raw, size, mtime, ctime, inode, device, links = words
            mode = int(raw, 16)
            stat = Stat(
                kind_of(mode),
                int(size),
                _nanoseconds(mtime),
                modes.S_IMODE(mode),
                int(links),
                int(device),
                int(inode),
                _nanoseconds(ctime),
            )
        except ValueError:
            raise failed(
                self.environment.name, f"stat says {' '.join(words)[:80]!r}, which is not understood"
            ) from None
        version = Version(stat.device, stat.inode, stat.size, stat.mtime_ns, stat.changed_ns or 0)
        return Seen(stat, version, target)

    def read(self, path: WorkPath, seen: Seen, cell: int, count: int) -> bytes:
        """Cells of a file, if the name still is that of the file that was seen."""
        which = f"{seen.stat.inode} {seen.stat.device}"
        count = max(1, min(count, self.talk.largest // CELL_BYTES))
        return self.ask(path, _CELLS, which, str(cell), str(count)).data

    def holding(self, top: WorkPath, text: bytes, *, ignore_case: bool) -> set[bytes] | None:
        """Files below a folder that may hold an ASCII text, by their paths in it."""
        if not self._greps:
            return None
        answer = self.ask(top, _HOLDING, escaped(text), "-i" if ignore_case else "")
        if answer.code or not answer.whole:
            return None
        prefix = b"./" if top == ROOT else b"./" + os.fsencode(top) + b"/"
        return {name.removeprefix(prefix).removeprefix(b"/") for name in answer.data.split(b"\0") if name}

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> None:
        """Make changes by one script."""
        from readroom.core.stores.environment.changing import Changing  # readers do not need it

        Changing(self).commit(changes, ready)


def _without_ctime(version: Version) -> tuple[int, int, int, int]:
    return version.device, version.inode, version.size, version.mtime_ns


def _nanoseconds(text: str) -> int:
    """A time in seconds with a decimal fraction, or without one."""
    whole, _, fraction = text.partition(".")
    return int(whole) * 1_000_000_000 + int((fraction or "0").ljust(9, "0")[:9])
