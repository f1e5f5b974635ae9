"""Names that no agent needs and whose content does harm in a conversation: denied in every workspace.

Chosen from what peers deny (pydantic-ai-harness, Kilo Code, the examples of
Claude Code), the key files that gitleaks and GitHub's push protection look for,
and what GitHub's .gitignore templates keep out of repositories.  Left out on
purpose: certificates and public keys (*.crt, *.cer, *.pub), example files, and
words that are topics as often as secrets (secrets.yaml, tokens.json).

An operator who needs one of them names it as an exception in a configuration file.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom.policy.rules import Denials, Rule

SOURCE = "defaults"

_ENVIRONMENT = "environment files hold credentials"
_KEY = "private keys"
_VAULT = "stores of keys or passwords"
_LOGIN = "login credentials"
_CLOUD = "cloud credentials"
_STATE = "infrastructure state holds secrets in plain text"
_TYPED = "what was typed holds passwords"
_VCS = "internals of version control: history, hooks, addresses with credentials"

_DENIED: dict[str, Sequence[str]] = {
    _ENVIRONMENT: (
        ".env",
        ".env.*",
        "!.env.example",
        "!.env.sample",
        "!.env.template",
        "!.env.dist",
        ".envrc",
    ),
    _VCS: (
        ".git",
        "**/*.git/config",
        "**/*.git/hooks/",
        "**/*.git/logs/",
        "**/*.git/objects/",
        ".hg/",
        ".jj/",
        ".svn/",
    ),
    _KEY: (
        "*.pem",
        "*.key",
        "*.p8",
        "*.ppk",
        "*.ovpn",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ecdsa_sk",
        "id_ed25519",
        "id_ed25519_sk",
        ".ssh/",
        ".gnupg/",
    ),
    _VAULT: (
        "*.p12",
        "*.pfx",
        "*.jks",
        "*.keystore",
        "*.kdb",
        "*.kdbx",
        "*.keychain",
        "*.keychain-db",
        ".password-store/",
    ),
    _LOGIN: (
        ".netrc",
        "_netrc",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        ".pgpass",
        ".my.cnf",
        ".dockercfg",
        "**/.docker/config.json",
        "**/.cargo/credentials",
        "**/.cargo/credentials.toml",
        "**/.gem/credentials",
        "**/.config/gh/hosts.yml",
        ".vault-token",
    ),
    _CLOUD: (
        "**/.aws/credentials",
        "**/.aws/cli/cache/",
        "**/.aws/sso/cache/",
        ".azure/",
        "**/.config/gcloud/",
        "application_default_credentials.json",
        "client_secret*.json",
        "service-account*.json",
        "service_account*.json",
        "**/.kube/config",
        "*.kubeconfig",
        ".boto",
        ".s3cfg",
        "rclone.conf",
        ".databrickscfg",
    ),
    _STATE: ("*.tfstate", "*.tfstate.backup", ".terraformrc", "terraform.rc", "credentials.tfrc.json"),
    _TYPED: (
        ".bash_history",
        ".zsh_history",
        ".python_history",
        ".node_repl_history",
        ".psql_history",
        ".mysql_history",
    ),
}

RULES: tuple[Rule, ...] = tuple(
    Rule(pattern, SOURCE, reason) for reason, patterns in _DENIED.items() for pattern in patterns
)

VERSION_CONTROL_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.reason == _VCS)
"""Of these the ones that commands need not be kept from: nobody can work with git without its folder."""


def denials(exceptions: Sequence[Rule] = ()) -> Denials:
    """The layer of built-in denials; `exceptions` are names that an operator takes out of it."""
    allowed = (Rule(f"!{rule.pattern}", rule.source, rule.reason) for rule in exceptions)
    return Denials((*RULES, *allowed))
