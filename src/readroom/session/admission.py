"""Which tokens open a server, and whether it asks for one at all.

A server asks from the start.  Until somebody makes tokens with `readroom token
create`, each folder has one of its own, made when it is first served.  Nothing but
the operator's word (`--open`), or a Unix socket that only one account can connect
to, makes a server that does not ask; and other machines never come in without a
token that was made for somebody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, final

from msgspec import Struct, field

from readroom.errors import BadTokenStore
from readroom.session.folder_tokens import FolderTokens, Openings
from readroom.session.tokens import Grant, MadeTokens

Auth: TypeAlias = Literal["auto", "required", "open"]
"""Tokens made by name or those of the folders, only tokens made by name, or none."""


class Keys(Struct, frozen=True):
    """Where the tokens of this account are."""

    made: MadeTokens
    """By `readroom token create`."""
    folders: FolderTokens
    remote: bool = False
    """Those made by name are asked for over a network."""


@final
class Admission(Struct):
    """Who may use one server.

    Attributes:
        keys: None where there is no telling which tokens there are.
        served: The folders by the names of their workspaces.
        auth: What the operator says.
        private: Only this account can connect: it is a Unix socket.
        local: Only this machine can.
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

        Raises:
            BadTokenStore: One cannot be made, or must not be trusted; nothing is served then.
        """
        if self.keys is None or self.private or self.auth != "auto":
            return {}
        folders = self.keys.folders
        if self.local and not self.keys.made.any_made():
            return {name: folders.ensured(folder).token for name, folder in self.served.items()}
        # Clients that were given one before tokens were made for others keep it.
        tokens = {name: folders.of(folder) for name, folder in self.served.items()}
        return {name: token.token for name, token in tokens.items() if token is not None}

    @property
    def asks(self) -> bool:
        """Whether a request needs a token. Raises BadTokenStore."""
        if self.auth == "open":
            return False
        # Once tokens were needed they stay so: a file that is gone must not open the door.
        self._asks = (
            self._asks
            or self.auth == "required"
            or not self.private
            or (self.keys is not None and self.keys.made.any_made())
        )
        return self._asks

    @property
    def waits(self) -> bool:
        """Whether to look for a token may take long."""
        return self.keys is not None and self.keys.remote

    def find(self, token: str) -> Grant | None:
        """What a presented token allows, whatever its state; None for one that is not known here."""
        grant = None if self.keys is None else self.keys.made.find(token)
        return self._openings.find(token) if grant is None and self._openings is not None else grant
