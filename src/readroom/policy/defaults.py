"""Names that no agent needs and whose content does harm in a conversation, denied everywhere.

Chosen from what peers deny (pydantic-ai-harness, Kilo Code, gemini-cli, Claude Code's examples), from
GitHub's .gitignore templates and gitleaks' list of key files.  Left out on
purpose: certificates without keys (*.crt, *.cer), public keys, `*.example`
files, and files such as .npmrc in which a token is the exception and a project's
settings are the rule, except where the name stands in a home folder's place.
"""

from __future__ import annotations

from readroom.policy.rules import Denials, Rule

SOURCE = "defaults"

_ENVIRONMENT = "environment files hold credentials"
_KEY = "private keys"
_STORE = "stores of keys and passwords"
_LOGIN = "holds login credentials"
_CLOUD = "holds cloud credentials"
_GIT = "git internals: history, hooks and credentials in URLs"

PATTERNS: tuple[tuple[str, str], ...] = (
    (".env", _ENVIRONMENT),
    (".env.*", _ENVIRONMENT),
    ("!.env.example", "an example"),
    ("!.env.sample", "an example"),
    ("!.env.template", "an example"),
    ("!.env.dist", "an example"),
    (".git", _GIT),
    ("*.pem", _KEY),
    ("*.key", _KEY),
    ("id_rsa", _KEY),
    ("id_dsa", _KEY),
    ("id_ecdsa", _KEY),
    ("id_ed25519", _KEY),
    (".ssh/", _KEY),
)


def denials() -> Denials:
    """The layer of built-in denials."""
    return Denials(Rule(pattern, SOURCE, reason) for pattern, reason in PATTERNS)
