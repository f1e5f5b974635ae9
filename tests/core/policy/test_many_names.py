"""Many names at once get the answers that each gets by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.paths import WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.policy.rules import AllowList, Denials, Layer, Rule, Rules
from readroom.core.stores.memory import MemoryStore
from tests.each import each

_CROWD = [f"no pattern is about {number}" for number in range(70)]
"""With so many names, all are looked at as one text before each is by itself."""

_SOME_NAMES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                ".env",
                ".ENV",
                ".env.example",
                "a.pem",
                "A.PEM.Gz",
                "id_rsa.xz",
                "Id_Rsa.pub",
                "a",
                "b.log",
                ".gz",
            ]
        ),
        st.text(st.sampled_from("aAbB.é*_\udcff\u200d"), min_size=1, max_size=5).filter(
            lambda name: name not in (".", "..")
        ),
    ),
    unique=True,
    max_size=12,
)
_NAMES = st.builds(list[str].__add__, _SOME_NAMES, st.sampled_from([[], _CROWD]))
_PATTERNS = st.lists(
    st.sampled_from(
        [
            "a*",
            "*.pem",
            "!a.pem",
            ".env",
            "x/b*",
            "/x/",
            "**/a",
            "[ab]*",
            "*é",
            "É*",
            "b/",
            "x/**",
            "*",
            "!*.log",
        ]
    ),
    max_size=4,
)
_FOLDER = st.sampled_from([WorkPath("."), WorkPath("x"), WorkPath("x/y"), WorkPath(".env")])


def _layer(patterns: list[str], *, allow: bool) -> Layer:
    if allow:
        return AllowList([pattern for pattern in patterns if not pattern.startswith("!")], "test")
    return Denials([Rule(pattern, "test", "") for pattern in patterns])


@given(names=_NAMES, first=_PATTERNS, second=_PATTERNS, allow=st.booleans(), folder=_FOLDER, data=st.data())
def test_rules_deny_the_same_of_many_names_as_of_each(
    names: list[str], first: list[str], second: list[str], allow: bool, folder: WorkPath, data: st.DataObject
) -> None:
    folders = set(data.draw(st.lists(st.sampled_from(names), unique=True))) if names else set()
    layers = [_layer(first, allow=False), _layer(second, allow=allow)]
    each = {
        name for name in names if not Rules(layers).decide(join(folder, name), folder=name in folders).allowed
    }
    assert Rules(layers).denied(folder, names, folders) == each


@given(names=_NAMES, top=_PATTERNS, nested=_PATTERNS, folder=_FOLDER, data=st.data())
def test_ignore_files_hide_the_same_of_many_names_as_of_each(
    names: list[str], top: list[str], nested: list[str], folder: WorkPath, data: st.DataObject
) -> None:
    folders = set(data.draw(st.lists(st.sampled_from(names), unique=True))) if names else set()
    store = MemoryStore({".gitignore": "\n".join(top), "x/.gitignore": "\n".join(nested)})
    guard = Guard(store)
    tree = IgnoreTree(guard)
    each = {name for name in names if tree.ignored(join(folder, name), folder=name in folders)}
    assert IgnoreTree(guard).hidden(folder, names, folders) == each


@each(("pattern", "name"), [("*.pem", "a.pem.gz"), ("id_rsa", "id_rsa.XZ"), ("cred*", "creds.zst")])
@each("crowd", [[], _CROWD])
def test_compressed_names_are_denied_among_others_too(pattern: str, name: str, crowd: list[str]) -> None:
    rules = Rules([_layer([pattern], allow=False)])
    assert rules.denied(WorkPath("."), [*crowd, name, "notes.gz"], frozenset()) == {name}
