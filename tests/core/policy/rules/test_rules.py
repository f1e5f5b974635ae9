"""Rules: what is denied by default, layers, allow lists, look-alike names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.paths import WorkPath, ancestors
from readroom.core.policy.rules import RULES, AllowList, Denials, Rule, Rules, denials
from readroom.core.policy.rules.gitignore import UnusablePattern, patterns
from tests.each import each

DEFAULTS = Rules([denials()])


def layer(*globs: str, source: str = "test") -> Denials:
    return Denials(Rule(glob, source, "because") for glob in globs)


def allowed(rules: Rules, path: str, *, folder: bool = False) -> bool:
    return rules.decide(WorkPath(path), folder=folder).allowed


@each(
    "path",
    [
        ".env",
        "a/.env",
        ".env.local",
        ".env.production",
        ".env.example.local",
        ".envrc",
        ".git/config",
        ".git/objects/00/11",
        "vendor/lib/.git/HEAD",
        "worktree/.git",
        "mirror.git/config",
        "mirror.git/objects/ab/cd",
        "a/mirror.git/hooks/pre-commit",
        ".svn/pristine/00/x",
        "id_rsa",
        "deploy/id_ed25519",
        ".ssh/known_hosts",
        "home/.ssh/config",
        "tls/server.key",
        "tls/server.pem",
        "app.p12",
        "release.keystore",
        "passwords.kdbx",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "home/.aws/credentials",
        "home/.docker/config.json",
        "home/.kube/config",
        "home/.config/gcloud/credentials.db",
        "application_default_credentials.json",
        "service-account-prod.json",
        "client_secret_123.json",
        "infra/terraform.tfstate",
        ".bash_history",
        "etc/shadow",
        "rootfs/etc/gshadow-",
        ".claude/.credentials.json",
        "home/.codex/auth.json",
        ".gemini/oauth_creds.json",
        ".qwen/oauth_creds.json",
        ".local/share/opencode/auth.json",
        ".config/github-copilot/apps.json",
        ".config/git/credentials",
        ".config/containers/auth.json",
        ".m2/settings.xml",
        ".cache/huggingface/token",
        ".mozilla/firefox/x.default/logins.json",
        ".config/google-chrome/Default/Login Data",
        ".config/BraveSoftware/Brave-Browser/Default/Login Data",
        "AppData/Local/Google/Chrome/User Data/Default/Login Data",
        ".config/Code/User/globalStorage/state.vscdb",
        ".claude.json",
        ".thunderbird/x.default/logins.json",
        "etc/wireguard/home.conf",
        "wg0.conf",
        "worker/.dev.vars",
        "gha-creds-0a1b2c.json",
        ".config/configstore/firebase-tools.json",
        ".config/doctl/config.yaml",
        ".oci/config",
        ".vault_pass",
        ".Xauthority",
        ".sqlite_history",
        ".Rhistory",
        ".local/share/fish/fish_history",
    ],
)
def test_credentials_keys_and_git_internals_are_denied(path: str) -> None:
    assert not allowed(DEFAULTS, path)


@each(
    "path",
    [
        ".env.example",
        ".env.sample",
        "a/.env.template",
        ".env.dist",
        "env",
        "environment.py",
        ".envy",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github/workflows/ci.yml",
        "git/config",
        "id_rsa.pub",
        "docs/ssh/README.md",
        "keys.py",
        "monkey.py",
        "server.crt",
        "docker/config.json",
        "aws/credentials.py",
        "package.json",
        "service_account.py",
        "config",
        "credentials.md",
        "main.tf",
        "css/shadow",
        "etc/shadow.css",
        ".claude/settings.json",
        ".codex/config.toml",
        "auth.json",
        "m2/settings.xml",
        "tokenizer/token",
        "price_history",
        "fixtures/logins.json",
        "docs/.history.md",
        "oci/config",
        "wg.conf",
        "ngrok/ngrok.py",
        "src/claude.json",
        "dev.vars",
    ],
)
def test_what_only_looks_like_it_is_allowed(path: str) -> None:
    assert allowed(DEFAULTS, path)


def test_every_default_pattern_can_match_and_has_a_reason() -> None:
    for rule in RULES:
        assert [pattern.compiled() for pattern in patterns([rule.pattern])]
        assert rule.reason
        assert rule.source == "defaults"


@each(
    "path",
    [
        ".ENV",
        "ID_RSA",
        "Server.PEM",
        ".GIT/config",
        ".g\u200cit/config",  # HFS+ drops the joiner (CVE-2014-9390)
        ".en\ufeffv",
        "id_r\u017fa",  # long s folds to s
        "\u212aey.\u212aEY",  # the Kelvin sign folds to k
        ".Ssh/\uffffx",
        ".ssh/line\nfeed",
        ".ssh/\udcff",
    ],
)
def test_names_that_some_file_system_takes_for_the_same_are_denied(path: str) -> None:
    assert not allowed(DEFAULTS, path)


def test_composed_and_decomposed_names_are_one() -> None:
    rules = Rules([layer("geh\u00e9im")])
    assert not allowed(rules, "geh\u00e9im")
    assert not allowed(rules, "gehe\u0301im")
    assert not allowed(rules, "GEHE\u0301IM")
    assert allowed(rules, "geheim")


def test_sets_and_ranges_do_not_depend_on_case() -> None:
    rules = Rules([layer("x[A-C]", "y[[:upper:]]", "[Z]z")])
    assert [allowed(rules, name) for name in ("xb", "XB", "xd", "yq", "Zz", "zZ")] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


def test_below_a_denied_folder_everything_is_denied() -> None:
    rules = Rules([layer("secret/", "!secret/public.txt", "!public.txt")])
    assert not allowed(rules, "secret/public.txt")
    assert not allowed(rules, "secret/a/b/public.txt")
    assert allowed(rules, "public.txt")


def test_a_rule_for_folders_says_nothing_of_files() -> None:
    rules = Rules([layer("secret/")])
    assert allowed(rules, "secret")
    assert not allowed(rules, "secret", folder=True)


def test_a_layer_takes_nothing_back_from_another() -> None:
    rules = Rules([layer("*.key"), layer("!*.key", "other"), layer("!other")])
    assert not allowed(rules, "a.key")
    assert not allowed(rules, "other")


def test_the_verdict_names_the_rule() -> None:
    rules = DEFAULTS.with_layers([layer("docs/private/", source="readroom.toml")])
    assert rules.decide(WorkPath("docs/private/a"), folder=False).rule == Rule(
        "docs/private/", "readroom.toml", "because"
    )
    found = rules.decide(WorkPath(".env.local"), folder=False).rule
    assert found is not None
    assert (found.pattern, found.source) == (".env.*", "defaults")


def test_the_root_is_never_denied() -> None:
    rules = Rules([layer("*", "**", ".")])
    assert allowed(rules, ".", folder=True)
    assert not allowed(rules, "a")


def test_an_operators_exception_takes_back_a_default_and_no_other_layer() -> None:
    rules = Rules([denials([Rule("certs/*.pem", "op", "needed"), Rule(".npmrc", "op", "needed")])])
    assert allowed(rules, "certs/ca.pem")
    assert allowed(rules, "a/.npmrc")
    assert not allowed(rules, "ca.pem")
    assert not allowed(rules.with_layers([layer("*.pem")]), "certs/ca.pem")


class TestAllowList:
    @each(
        ("globs", "files", "no_files", "folders", "no_folders"),
        [
            (["src/"], ["src/a", "src/a/b", "x/src/a"], ["a", "srcs/a", "src"], ["src", "src/a", "x"], []),
            (["/src/"], ["src/a"], ["x/src/a", "a"], ["src", "src/a"], ["x", "x/src"]),
            (
                ["docs/**/*.md"],
                ["docs/a.md", "docs/x/y/a.md"],
                ["docs/a.txt", "a.md"],
                ["docs", "docs/x"],
                ["x"],
            ),
            (["*.py"], ["a.py", "x/y/a.py"], ["a.txt"], ["x", "x/y"], []),
            (["a/b/c.txt"], ["a/b/c.txt"], ["a/b/d.txt", "a/c.txt"], ["a", "a/b"], ["a/x", "a/b/c", "b"]),
            (["a/*/c"], ["a/x/c", "a/x/c/below"], ["a/x/d"], ["a", "a/x", "a/x/c"], ["a/x/d"]),
            (["**/x/y"], ["x/y", "q/x/y"], ["y"], ["q", "x", "q/x"], []),
            ([], [], ["a", "a/b"], [], ["a"]),
        ],
    )
    def test_only_what_is_listed_and_the_way_to_it(
        self,
        globs: list[str],
        files: list[str],
        no_files: list[str],
        folders: list[str],
        no_folders: list[str],
    ) -> None:
        rules = Rules([AllowList(globs, "test")])
        assert [path for path in files if not allowed(rules, path)] == []
        assert [path for path in no_files if allowed(rules, path)] == []
        assert [path for path in folders if not allowed(rules, path, folder=True)] == []
        assert [path for path in no_folders if allowed(rules, path, folder=True)] == []
        assert allowed(rules, ".", folder=True)

    def test_it_depends_on_case(self) -> None:
        assert not allowed(Rules([AllowList(["src/"], "test")]), "SRC/a")

    def test_denials_stand_above_it(self) -> None:
        rules = Rules([denials(), AllowList(["src/", ".env"], "test")])
        assert not allowed(rules, ".env")
        assert not allowed(rules, "src/.env")

    @pytest.mark.parametrize("glob", ["!a", "[z-", "!"])
    def test_negations_and_nonsense_are_refused(self, glob: str) -> None:
        with pytest.raises(UnusablePattern):
            AllowList([glob], "test")


_globs = st.lists(
    st.lists(st.sampled_from(["a", "b", "*", "**", "/", "!", "?", "[ab]", "A"]), min_size=1, max_size=5).map(
        "".join
    ),
    max_size=4,
)
_paths = st.lists(st.sampled_from(["a", "b", "ab", "A", "x"]), min_size=1, max_size=4).map("/".join)


@given(_globs, _globs, _paths)
def test_another_layer_never_allows_more(first: list[str], second: list[str], path: str) -> None:
    before = Rules([layer(*first)])
    after = before.with_layers([layer(*second)])
    for folder in (False, True):
        assert allowed(before, path, folder=folder) or not allowed(after, path, folder=folder)


@given(_globs, _paths)
def test_what_is_allowed_has_only_allowed_folders_above_it(globs: list[str], path: str) -> None:
    rules = Rules([layer(*globs)])
    if allowed(rules, path):
        assert all(allowed(rules, folder, folder=True) for folder in ancestors(WorkPath(path)))


@given(_globs, _paths)
def test_case_never_makes_a_difference_to_a_denial(globs: list[str], path: str) -> None:
    rules = Rules([layer(*globs)])
    assert len({allowed(rules, form) for form in (path, path.upper(), path.swapcase())}) == 1


@given(
    _globs,
    st.lists(st.sampled_from(["a", "b", ".env", "k.KEY", "é", "\udcff", "x\ny", ".git"]), unique=True),
    st.sets(st.sampled_from(["a", ".git", "é"])),
    st.sampled_from([".", "a", "a/b", ".git"]),
)
def test_many_names_are_decided_as_each_of_them(
    globs: list[str], names: list[str], folders: set[str], folder: str
) -> None:
    rules = Rules([denials(), layer(*globs), AllowList(["a/", "*.md"], "test")])
    one_by_one = {
        name
        for name in names
        if not allowed(rules, name if folder == "." else f"{folder}/{name}", folder=name in folders)
    }
    assert rules.denied(WorkPath(folder), names, folders) == one_by_one
