"""Rules in the syntax of fnmatch: whole paths, `*` crosses slashes, denials whatever the case."""

from __future__ import annotations

import pytest

from readroom.contracts.inspect_agents import IMPLICIT, FnmatchLayer
from readroom.core.paths import WorkPath
from readroom.core.policy.rules import Layer, Rules
from tests.each import each


@each(
    ("glob", "path", "denied"),
    [
        ("secret*", "secret.txt", True),
        ("secret*", "SECRET.txt", True),
        ("secret*", "secrets/deep/key", True),
        ("*.key", "a/b/c.key", True),
        ("*.key", "a/b/c.keys", False),
        ("docs/*", "docs/a/b", True),
        ("docs/*", "my/docs/a", False),
    ],
)
def test_a_denial_means_whole_paths(glob: str, path: str, denied: bool) -> None:
    verdict = Rules([FnmatchLayer((glob,), "TEST")]).decide(WorkPath(path), folder=False)
    assert verdict.allowed is not denied
    assert not denied or (verdict.rule is not None and verdict.rule.pattern == glob)


@pytest.mark.parametrize(
    ("path", "allowed"), [("docs/a.md", True), ("docs/deep/a", True), ("src/x.py", False), ("Docs/a", False)]
)
def test_what_is_not_listed_is_denied_by_the_rule_that_nobody_wrote(path: str, allowed: bool) -> None:
    verdict = Rules([FnmatchLayer(("docs/**",), "TEST", allows=True)]).decide(WorkPath(path), folder=False)
    assert verdict.allowed is allowed
    assert allowed or (verdict.rule is not None and verdict.rule.pattern == IMPLICIT)


def test_many_names_are_decided_like_each() -> None:
    rules = Rules([FnmatchLayer(("b*",), "TEST"), FnmatchLayer(("?1",), "TEST", allows=True)])
    names = ["a1", "a2", "b1", "c1"]
    one_by_one = {name for name in names if not rules.decide(WorkPath(name), folder=False).allowed}
    assert rules.denied(WorkPath("."), names, ()) == one_by_one == {"a2", "b1"}


def test_layers_of_the_same_patterns_are_the_same_layer() -> None:
    assert FnmatchLayer(("a",), "TEST") == FnmatchLayer(("a",), "TEST")
    assert len({FnmatchLayer(("a",), "TEST", allows=True), FnmatchLayer(("a",), "TEST", allows=True)}) == 1
    layers: list[Layer] = [FnmatchLayer(("a",), "TEST"), FnmatchLayer(("a",), "TEST", allows=True)]
    assert layers[0] != layers[1]
