"""The small workspace of the tests of the command line, for commands of the server."""

from __future__ import annotations

from tests.cli.conftest import cli, root

__all__ = ["cli", "root"]
