"""Which tokens a server accepts, and whether it requires one.

A server requires a token from the start.  Until tokens are made with `readroom token create`, each folder
has a token of its own, made when it is first served.  A server without tokens needs the operator's word
(`--open`), or a Unix socket that only one account can connect to; other machines never get in without a
token that was made by name.

The token of a folder is in one small file in the user's state folder, which no other user can read.  The
secret is stored as it is: an account that can read the file may read the folder anyway.  A token changes
only when it is renewed or revoked; a file that does not look as it was written is refused, never silently
replaced.

Files that another account could have prepared are refused as well: every name is opened without
following links, below a folder that is ours, and has to belong to this account.  Writers lock that folder
and put a complete file in place by a rename, so readers need no lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import shlex
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal, TypeAlias, final

from msgspec import Struct, field

from readroom.core.errors import BadTokenStore, NoFolderToken
from readroom.core.stores.bucket.address import absolute
from readroom.server.tokens import SECRET, Grant, MadeTokens, new_token, ours, token_id

_SUFFIX = ".json"
_UNFINISHED = ".new"
_MOST_BYTES = 16_384
"""Largest file: a path has at most 4,096 bytes, and JSON writes some of them as six."""

_ELSEWHERE = (
    "Set XDG_STATE_HOME to a folder that this account can write to, or serve with --open, without a token."
)


class FolderToken(Struct, frozen=True):
    """The token of a folder. Its `repr` does not show the secret."""

    folder: str
    token: str
    created: float

    def __repr__(self) -> str:
        return f"FolderToken({self.folder!r}, {self.id!r})"

    @property
    def id(self) -> str:
        """Its id in lists, logs and the ledger."""
        return token_id(self.token) or ""

    def grant(self, workspaces: frozenset[str] | None = None) -> Grant:
        """Its permissions: everything in its folder, in every workspace that serves it."""
        return Grant(self.id, "folder", workspaces, created=self.created)


@final
class FolderTokens:
    """The tokens of folders, stored below one state folder. Safe to share between threads and processes."""

    def __init__(self, path: str) -> None:
        """Store tokens in the folder `path`, which is made with the first of them."""
        self._path = path

    def of(self, folder: str) -> FolderToken | None:
        """The token of a folder, if it has one. Raises BadTokenStore if its file cannot be trusted."""
        with self._below() as below:
            return None if below is None else self._read(below, absolute(folder))

    def state(self, folder: str) -> tuple[int, ...] | None:
        """A value that changes whenever the token's file does; None if there is no file."""
        try:
            status = os.lstat(os.path.join(self._path, _name(folder)))
        except OSError:
            return None
        identity = (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_size)
        return (*identity, status.st_mtime_ns, status.st_ctime_ns)

    def shown(self, folder: str) -> FolderToken:
        """The token of a folder. Raises NoFolderToken or BadTokenStore."""
        token = self.of(folder)
        if token is None:
            raise NoFolderToken(absolute(folder))
        return token

    def ensured(self, folder: str) -> FolderToken:
        """The token of a folder, made now if it has none. Raises BadTokenStore."""
        token = self.of(folder)
        if token is not None:
            return token
        real = absolute(folder)
        with self._writing() as below:
            # Another server may have written it first.
            return self._read(below, real) or self._write(below, real)

    def renewed(self, folder: str) -> FolderToken:
        """A new token that replaces the folder's token, if any. Raises BadTokenStore."""
        with self._writing() as below:
            return self._write(below, absolute(folder))

    def all(self) -> list[FolderToken]:
        """All valid tokens, oldest first; invalid files are left out."""
        tokens = []
        with self._below() as below:
            if below is None:
                return []
            for name in os.listdir(below):
                with suppress(BadTokenStore):
                    token = self._parsed(below, name) if name.endswith(_SUFFIX) else None
                    if token is not None and _name(token.folder) == name:
                        tokens.append(token)
        return sorted(tokens, key=lambda token: (token.created, token.id))

    def remove(self, identifier: str) -> FolderToken | None:
        """End the token with this id; None when no folder has it."""
        for token in self.all():
            if token.id == identifier:
                with self._writing() as below:
                    now = self._read(below, token.folder)
                    if now is not None and now.id == identifier:
                        os.unlink(_name(token.folder), dir_fd=below)
                        return token
        return None

    @contextmanager
    def _below(self) -> Iterator[int | None]:
        """The state folder, opened, which is ours alone; None if it does not exist."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            below = os.open(self._path, flags)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise self._bad(_said(error), _ELSEWHERE) from None
        try:
            ours(self._path, os.stat(os.path.dirname(self._path)), os.fstat(below))
            yield below
        finally:
            os.close(below)

    @contextmanager
    def _writing(self) -> Iterator[int]:
        try:
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self._path, 0o700)
        except OSError as error:
            raise self._bad(_said(error), _ELSEWHERE) from None
        with self._below() as below:
            if below is None:
                raise self._bad("it went away", "Try again.")
            try:
                fcntl.flock(below, fcntl.LOCK_EX)
                os.fchmod(below, 0o700)
                for name in os.listdir(below):
                    # Left by a process that was killed: this lock excludes other writers.
                    if name.endswith(_UNFINISHED):
                        os.unlink(name, dir_fd=below)
                yield below
            except OSError as error:
                raise self._bad(_said(error), _ELSEWHERE) from None

    def _read(self, below: int, folder: str) -> FolderToken | None:
        token = self._parsed(below, _name(folder), folder)
        if token is not None and token.folder != folder:
            raise self._spoiled(_name(folder), "is that of another folder", folder)
        return token

    def _parsed(self, below: int, name: str, folder: str = "") -> FolderToken | None:
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=below)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._spoiled(name, f"cannot be opened ({_said(error)})", folder) from None
        try:
            self._trusted(name, os.fstat(file), folder)
            data = os.read(file, _MOST_BYTES + 1)
        finally:
            os.close(file)
        token = _decoded(data)
        if token is None:
            raise self._spoiled(name, "is not what readroom wrote", folder)
        return token

    def _trusted(self, name: str, status: os.stat_result, folder: str) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._spoiled(name, "is not a regular file", folder)
        if status.st_uid != os.geteuid():
            raise self._spoiled(name, "belongs to another account", folder)
        if status.st_mode & 0o077:
            problem = "can be read by other accounts, who may know the token by now"
            raise self._spoiled(name, problem, folder)

    def _write(self, below: int, folder: str) -> FolderToken:
        made = FolderToken(folder, new_token(), time.time())
        data = json.dumps({"folder": folder, "token": made.token, "created": made.created}).encode("ascii")
        name = _name(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name + _UNFINISHED, flags, 0o600, dir_fd=below)
        try:
            os.fchmod(file, 0o600)  # regardless of the umask
            if os.write(file, data) != len(data):
                raise OSError("no space")
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(name + _UNFINISHED, name, src_dir_fd=below, dst_dir_fd=below)
        return made

    def _spoiled(self, name: str, problem: str, folder: str) -> BadTokenStore:
        named = shlex.quote(folder) if folder and folder.isprintable() else "DIR"
        advice = f"`readroom token renew {named}` replaces it; clients then need the new token."
        return self._bad(f"{name} {problem}", advice)

    def _bad(self, problem: str, advice: str) -> BadTokenStore:
        return BadTokenStore(self._path, problem, advice)


@final
class Openings:
    """Finds the served folders that a token opens. Used from one thread."""

    def __init__(self, tokens: FolderTokens, served: Mapping[str, str]) -> None:
        """`served` maps workspace names to folders."""
        self._tokens = tokens
        self._names: dict[str, set[str]] = {}
        for name, folder in served.items():
            self._names.setdefault(absolute(folder), set()).add(name)
        self._known: dict[str, str] = {}
        self._read: dict[str, tuple[tuple[int, ...], FolderToken | None]] = {}
        """By folder, the state of its token's file, and the parsed token."""

    def find(self, token: str) -> Grant | None:
        """The grant of a presented token; None if no served folder has it. Raises BadTokenStore."""
        identifier = token_id(token)
        if identifier is None:
            return None
        known = self._known.get(identifier)
        for folder in self._names if known is None else (known,):
            folder_token = self._of(folder)
            if folder_token is not None and hmac.compare_digest(folder_token.token.encode(), token.encode()):
                self._known[identifier] = folder
                return folder_token.grant(frozenset(self._names[folder]))
        return None

    def _of(self, folder: str) -> FolderToken | None:
        """The current token of a folder, so that a renewed or revoked one ends at once."""
        state = self._tokens.state(folder)
        before = self._read.get(folder)
        if before is not None and before[0] == state:
            return before[1]
        token = self._tokens.of(folder)
        if state is not None:
            self._read[folder] = (state, token)
        return token


def _name(folder: str) -> str:
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:32] + _SUFFIX


def _decoded(data: bytes) -> FolderToken | None:
    try:
        value = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    folder, token, created = value.get("folder"), value.get("token"), value.get("created")
    if not isinstance(folder, str) or not isinstance(token, str) or not isinstance(created, float):
        return None
    return FolderToken(folder, token, created) if SECRET.fullmatch(token) else None


def _said(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


Auth: TypeAlias = Literal["auto", "required", "open"]
"""Accept tokens made by name and those of folders, only tokens made by name, or no tokens."""


class Keys(Struct, frozen=True):
    """The tokens of this account."""

    made: MadeTokens
    """Made with `readroom token create`."""
    folders: FolderTokens
    remote: bool = False
    """Whether tokens made by name are looked up over a network."""


@final
class Admission(Struct):
    """The admission rules of one server.

    Attributes:
        keys: The known tokens; None if they are not known.
        served: The folders by the names of their workspaces.
        auth: The operator's setting.
        private: Only this account can connect: it is a Unix socket.
        local: Only this machine can connect.
    """

    keys: Keys | None
    served: Mapping[str, str] = field(default_factory=dict)
    auth: Auth = "auto"
    private: bool = False
    local: bool = True
    _asks: bool = False
    _openings: Openings | None = None

    def __post_init__(self) -> None:
        if self.keys is not None and self.auth != "required":
            self._openings = Openings(self.keys.folders, self.served)
        elif self.keys is None and not (self.auth == "open" or (self.auth == "auto" and self.private)):
            raise BadTokenStore("", "there is no telling where they are", "Set HOME or XDG_STATE_HOME.")

    def prepare(self) -> Mapping[str, str]:
        """The tokens of folders that clients can use, by workspace, made where they are needed.

        Raises BadTokenStore if one cannot be made or must not be trusted; nothing is served then.
        """
        if self.keys is None or self.private or self.auth != "auto":
            return {}
        folders = self.keys.folders
        if self.local and not self.keys.made.any_made():
            return {name: folders.ensured(folder).token for name, folder in self.served.items()}
        # Clients that were given one before named tokens existed keep it.
        tokens = {name: folders.of(folder) for name, folder in self.served.items()}
        return {name: token.token for name, token in tokens.items() if token is not None}

    @property
    def asks(self) -> bool:
        """Whether a request needs a token. Raises BadTokenStore."""
        if self.auth == "open":
            return False
        # Once tokens were required they stay required: a missing file must not open the server.
        self._asks = (
            self._asks
            or self.auth == "required"
            or not self.private
            or (self.keys is not None and self.keys.made.any_made())
        )
        return self._asks

    @property
    def waits(self) -> bool:
        """Whether looking up a token may take long."""
        return self.keys is not None and self.keys.remote

    def find(self, token: str) -> Grant | None:
        """The grant of a presented token, in any state; None for an unknown token."""
        grant = None if self.keys is None else self.keys.made.find(token)
        return self._openings.find(token) if grant is None and self._openings is not None else grant
