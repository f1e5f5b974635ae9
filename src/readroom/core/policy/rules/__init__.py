"""The rules that decide which names may be seen: deny and allow lists in layers.

Each source of rules is one layer.  A name is denied as soon as one layer denies it, so a layer can only
restrict further, and a negation re-includes only what its own layer excluded.  Everything below a denied
folder is denied.

Denials ignore case, the composition of characters, and characters that some file systems ignore: a name
that macOS would take for `.env` is `.env`.  Rules know nothing of what is on disk.

Knows: patterns of operators, of folders and of ignore files, and which of them decides.
Does not know: whether a file is there.
May be touched: with a security review only.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Protocol, final

from msgspec import Struct

from readroom.core.limits import MAX_PATH_DEPTH, RULE_CACHE_NAMES
from readroom.core.paths import BORDER, ROOT, WorkPath, ancestors, join, parent
from readroom.core.policy.rules.defaults import DENIED, VERSION_CONTROL
from readroom.core.policy.rules.gitignore import (
    IgnorePattern,
    PatternList,
    UnusablePattern,
    byte_text,
    patterns,
)
from readroom.core.policy.rules.names import COPIED, PACKED, foldable, names_with_others, other_names


class Rule(Struct, frozen=True):
    """A pattern with its source and reason."""

    pattern: str
    source: str
    reason: str


class Verdict(Struct, frozen=True):
    """Whether a name is allowed, and the rule that denies it."""

    allowed: bool
    rule: Rule | None = None


ALLOWED = Verdict(True)

_MAGIC = frozenset("*?[\\")


class Layer(Protocol):
    """One source of rules."""

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        """The rule that denies exactly this name, if any.

        Args:
            path: The path as byte text.
            folded: The path without differences of case.
            folder: Whether it is a folder.
        """

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """The positions of names in one folder, folded, that the layer may deny."""


@final
class Denials:
    """A layer that denies what its patterns match."""

    __slots__ = (
        "_above",
        "_excepted",
        "_exceptions",
        "_irrevocable",
        "_list",
        "_prefixes",
        "_rules",
        "_served",
        "everywhere",
    )

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        exceptions: Sequence[Rule] = (),
        everywhere: bool = False,
        served: Sequence[str] = (),
        above: Sequence[str] = (),
    ) -> None:
        """Patterns apply in order; a later one with "!" re-includes what an earlier one denied.

        Args:
            rules: Rules by which names are denied.
            exceptions: Rules that take names below the root out again, whatever denies them.
            everywhere: The rules are about folders of the machine, wherever the root lies among them.
            served: Folders that the operator serves although a folder above them is denied.
            above: Absolute names of the root, for rules that hold everywhere.
        """
        self._rules = tuple(rules)
        self._exceptions = tuple(exceptions)
        self.everywhere = everywhere
        self._served = tuple(served)
        self._above = tuple(above)
        self._irrevocable: tuple[str, ...] | None = None
        self._list = _listed(self._rules)
        self._excepted = _listed(self._exceptions)
        self._prefixes = list(dict.fromkeys(prefix for name in above for prefix in _prefixes(name))) or [""]

    def placed(self, above: Sequence[str]) -> Denials:
        """The same rules for a root that has these absolute names."""
        if not self.everywhere or not above:
            return self
        return Denials(
            self._rules, exceptions=self._exceptions, everywhere=True, served=self._served, above=above
        )

    def of_root(self) -> Rule | None:
        """The rule that denies the root, or a folder above it, unless the operator serves it."""
        if not {*self._served}.isdisjoint(self._above):
            return None
        for prefix in self._prefixes:
            for end in (at for at, char in enumerate(prefix) if char == "/"):
                pattern = self._list.deciding(prefix[:end], folder=True)
                if pattern is not None and not pattern.negated:
                    return self._rules[pattern.number - 1]
        return None

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        for prefix in self._prefixes:
            pattern = self._list.deciding(prefix + folded, folder=folder)
            if pattern is not None and not pattern.negated:
                if self._exceptions and self._excepted.deciding(folded, folder=folder) is not None:
                    return None
                return self._rules[pattern.number - 1]
        return None

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """The positions of names that a pattern could match."""
        return self._list.concerned(folded)

    def irrevocable(self) -> Sequence[str]:
        """Patterns whose matches no later pattern can re-include."""
        if self._irrevocable is None:
            self._irrevocable = tuple(self._never_brought_back())
        return self._irrevocable

    def _never_brought_back(self) -> list[str]:
        texts: list[str] = []
        brought_back: set[str] = set()
        excepted = {rule.pattern for rule in self._exceptions}
        for rule in reversed((*self._rules, *self._exceptions)):
            last = rule.pattern.rstrip("/").rpartition("/")[2].lstrip("!").lower()
            if rule.pattern.startswith("!") or rule.pattern in excepted:
                brought_back.add(last)
            elif not brought_back or (
                last not in brought_back and not _MAGIC & {*last, *"".join(brought_back)}
            ):
                texts.append(rule.pattern)
        return texts[::-1]


def _prefixes(above: str) -> Iterator[str]:
    """What stands before names below a root, as the root is called here and on other systems."""
    folded = _folded_one(above.strip("/"))
    yield from (f"{name}/".lstrip("/") for name in (folded, *other_names(folded)))


def _listed(rules: Sequence[Rule]) -> PatternList:
    return PatternList(
        (
            pattern
            for number, rule in enumerate(rules, 1)
            for pattern in patterns([foldable(rule.pattern)], first=number, fold=True)
        ),
        fold=True,
    )


@final
class AllowList:
    """A layer that denies all files that no pattern matches, and folders that cannot contain a match.

    A matched folder allows all below it, unless that is left out.  Unlike denials it depends on
    case: in doubt, no.
    """

    __slots__ = ("_below", "_list", "_rule", "_ways")

    def __init__(self, globs: Sequence[str], source: str, *, below_matches: bool = True) -> None:
        """With `below_matches`, a matching folder allows everything below it. Raises UnusablePattern."""
        parsed = patterns(globs)
        for pattern in parsed:
            if pattern.negated:
                raise UnusablePattern(pattern.text)
            pattern.compiled()
        self._list = PatternList(parsed)
        self._below = below_matches
        self._ways = PatternList(patterns(way for pattern in parsed for way in _ways(pattern)))
        self._rule = Rule(f"allow = [{', '.join(globs)}]", source, "not in the list of allowed names")

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        """The rule for a name that is not listed."""
        cuts = [at for at, char in enumerate(path) if char == "/"] if self._below else []
        if any(self._list.deciding(path[:at], folder=True) for at in cuts):
            return None
        if self._list.deciding(path, folder=folder):
            return None
        return None if folder and self._ways.deciding(path, folder=True) else self._rule

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """All positions, because it denies what is not listed."""
        return range(len(folded))


@final
class Rules:
    """All layers. Safe to share between threads."""

    __slots__ = ("_files", "_folders", "_layers", "_start", "_top")

    def __init__(self, layers: Sequence[Layer], top: WorkPath = ROOT) -> None:
        """`top` is the folder to which the rules are relative; all paths are below it."""
        self._layers = tuple(layers)
        self._top = top
        self._start = 0 if top == ROOT else len(top) + 1
        self._files: dict[WorkPath, Verdict] = {}
        self._folders: dict[WorkPath, Verdict] = {}

    def with_layers(self, layers: Sequence[Layer], *, first: bool = False) -> Rules:
        """These rules with more layers; if several deny, those that come `first` name the rule."""
        return Rules((*layers, *self._layers) if first else (*self._layers, *layers), self._top)

    def below(self, top: WorkPath) -> Rules:
        """These rules for a root that is a folder of a tree, for paths of the tree."""
        return Rules(self._layers, top)

    def placed(self, above: Sequence[str]) -> Rules:
        """These rules for a root that has these absolute names."""
        layers = [layer.placed(above) if isinstance(layer, Denials) else layer for layer in self._layers]
        return Rules(layers, self._top)

    def of_root(self) -> Rule | None:
        """The rule that denies the root itself."""
        return next(filter(None, (layer.of_root() for layer in self.denials)), None)

    @property
    def top(self) -> WorkPath:
        """The folder to which the rules are relative."""
        return self._top

    @property
    def layers(self) -> Sequence[Layer]:
        """The layers in order of precedence."""
        return self._layers

    @property
    def denials(self) -> Sequence[Denials]:
        """The layers that deny what they list; the others allow only what they list."""
        return [layer for layer in self._layers if isinstance(layer, Denials)]

    def irrevocable(self) -> list[str]:
        """Patterns of denied names that may be skipped without asking; not all denied names."""
        return [pattern for layer in self.denials for pattern in layer.irrevocable()]

    def decide(self, path: WorkPath, *, folder: bool, opened: bool = False) -> Verdict:
        """Whether a name is allowed; `folder` says what it is. The root always is.

        The verdict on a folder is kept, and that on an `opened` file, which is often opened again.
        """
        if path in (ROOT, self._top):
            return ALLOWED
        if not (folder or opened):
            return self._decided(path, folder)
        known = self._folders if folder else self._files
        verdict = known.get(path)
        if verdict is None:
            verdict = self._decided(path, folder)
            if len(known) >= RULE_CACHE_NAMES:
                known.clear()
            known[path] = verdict
        return verdict

    def denied(self, folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The denied names in a folder; the same as `decide` for each.

        Most names concern no rule, and are set apart from the others many at a time.
        """
        if not self.decide(folder, folder=True).allowed:
            return set(names)
        folded = _folded(names)
        positions = {at for layer in self._layers for at in layer.concerned(folded)}
        positions |= names_with_others(folded)
        concerned = (names[at] for at in positions)
        return {
            name for name in concerned if not self.decide(join(folder, name), folder=name in folders).allowed
        }

    def _decided(self, path: WorkPath, folder: bool) -> Verdict:
        if path.count("/") > MAX_PATH_DEPTH and parent(path) not in self._folders:
            # rg names files that no call can: each folder is decided, and kept, before those below it.
            for each in ancestors(path):
                self.decide(each, folder=True)
        above = self.decide(parent(path), folder=True)
        if not above.allowed:
            return above
        own = path[self._start :]
        name, folded = byte_text(own), _folded_one(own)
        for layer in self._layers:
            rule = layer.decide(name, folded, folder=folder)
            if rule is None and isinstance(layer, (Denials, _Inside)):
                # Its content can be read like any other file, so deny it like the file it belongs to.
                endings = () if folder else COPIED if layer.everywhere else PACKED
                rules = (
                    layer.decide(other, other, folder=folder)
                    for other in other_names(folded, endings=endings)
                )
                rule = next(filter(None, rules), None)
            if rule is not None:
                return Verdict(False, rule)
        return ALLOWED


def _folded(names: Sequence[str]) -> Sequence[str]:
    whole = "/".join(names)
    if whole.isascii():
        lower = whole.lower()
        return names if lower == whole else lower.split("/")
    return [_folded_one(name) for name in names]


def _folded_one(name: str) -> str:
    return byte_text(foldable(name).lower())


def _ways(pattern: IgnorePattern) -> list[str]:
    """Patterns for the folders on the way to matches of `pattern`."""
    if pattern.last_part_only:
        return ["**"]
    ways: list[str] = []
    above = pattern.text.strip("/").split("/")[:-1]
    for count, part in enumerate(above, 1):
        ways.append("/" + "/".join(above[:count]) + "/")
        if "**" in part or "[" in part:  # from here on it may mean any number of folders
            return [*ways[:-1], "/" + "/".join([*above[: count - 1], "**"])]
    return ways


# -----------------------------------------------------------------------------
# The built-in layer of every workspace.
# -----------------------------------------------------------------------------

SOURCE = "defaults"

RULES: tuple[Rule, ...] = tuple(
    Rule(pattern, SOURCE, reason) for reason, patterns in DENIED.items() for pattern in patterns
)

VERSION_CONTROL_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.reason == VERSION_CONTROL)
"""The rules that need not hold for commands: git cannot be used without its folder."""


def denials(exceptions: Sequence[Rule] = (), served: Sequence[str] = ()) -> Denials:
    """The layer of built-in denials.

    Args:
        exceptions: Rules of the operator that take names out, or some of the built-in ones.
        served: Folders that are served although they lie in a denied one.
    """
    left = [rule for rule in RULES if rule not in exceptions]
    own = [rule for rule in exceptions if rule not in RULES]
    return Denials(left, exceptions=own, everywhere=True, served=served)


# -----------------------------------------------------------------------------
# Rules for members of archives.
#
# A member has a long name (`backup.zip!/app/.env`), and the name it would have as a file of its
# own.  Denials apply to both, and also to the name without the top folder that most archives have:
# what would be denied after unpacking in the root is denied in the archive.  Allow lists apply to the
# archive alone: allowing it allows its members.
# -----------------------------------------------------------------------------

_BORDER = f"{BORDER}/"


def inside(rules: Rules) -> Rules:
    """The rules for members of archives, derived from those of a workspace; at any depth.

    Those that are about members already stay as they are.
    """
    about_members = [layer for layer in rules.layers if isinstance(layer, _Inside)]
    return Rules([*about_members, *(_Inside(layer) for layer in rules.denials)], rules.top)


@final
class _Inside:
    """Denials applied to every name that a member could have."""

    __slots__ = ("_layer", "everywhere")

    def __init__(self, layer: Denials) -> None:
        self._layer = layer
        self.everywhere = layer.everywhere

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        rule = self._layer.decide(path, folded, folder=folder)
        for name in _names(folded):
            rule = rule or self._layer.decide(name, name, folder=folder)
        return rule

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """The positions of names that a pattern could match."""
        return self._layer.concerned(folded)


def _names(path: str) -> Iterator[str]:
    """The path from each archive border on, and the same without the first folder."""
    _, *inner = path.split(_BORDER)
    for at in range(len(inner)):
        name = _BORDER.join(inner[at:])
        yield name
        below = name.partition("/")[2]
        if below:
            yield below
