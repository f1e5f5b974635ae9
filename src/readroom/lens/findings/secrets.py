"""Secrets in lines of text, as `core.secrets` judges them, if the library detect-secrets is installed."""

from __future__ import annotations

from readroom.core.secrets import judge
from readroom.core.secrets.judge import installed as installed


class SecretScanner:
    """Finds the kinds of secrets in a line."""

    def __init__(self) -> None:
        """Load the library. Raises MissingProgram."""
        judge.require()

    def kinds(self, file: str, line: str) -> tuple[str, ...]:
        """The kinds of secrets in one line of `file`, each once; the name of the file does not count."""
        return judge.kinds(line)
