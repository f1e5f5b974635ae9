"""Every compiled pattern of readroom, and texts that it may match."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import random
import re
import re._constants as codes  # type: ignore[import-not-found] # private, without types
import re._parser as parser  # type: ignore[import-not-found]
import types
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import readroom

Pattern: TypeAlias = "re.Pattern[str] | re.Pattern[bytes]"

_FOLLOWED = (types.FunctionType, types.MethodType, type)


@cache
def collected() -> dict[tuple[str | bytes, int], str]:
    """Each pattern and its flags, with the module where it was found first.

    A pattern is found wherever it is: in attributes, tables, classes, closures and caches.
    """
    found: dict[tuple[str | bytes, int], str] = {}
    modules = list(_modules())
    seen = {id(vars(module)) for module in modules}
    for module in modules:
        waiting = gc.get_referents(vars(module))
        while waiting:
            at = waiting.pop()
            if id(at) in seen or isinstance(at, types.ModuleType):
                continue
            if isinstance(at, _FOLLOWED) and not str(getattr(at, "__module__", "")).startswith("readroom"):
                continue
            seen.add(id(at))
            if isinstance(at, re.Pattern):
                found.setdefault((at.pattern, at.flags), module.__name__)
            else:
                waiting += gc.get_referents(at)
    return found


def _modules() -> Iterator[types.ModuleType]:
    """Every module whose dependencies are installed."""
    for one in pkgutil.walk_packages(readroom.__path__, "readroom.", onerror=lambda _: None):
        if not one.name.endswith("__main__"):
            try:
                yield importlib.import_module(one.name)
            except ImportError as error:
                if str(error.name).startswith("readroom"):
                    raise  # never a part of this package, only one that it can do without


def texts(pattern: str | bytes, flags: int, number: int) -> list[str]:
    """Texts that the pattern matches, most of them with some damage; of bytes as Latin-1."""
    rng = random.Random(f"{pattern!r} {flags}")
    written = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(written, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags)
    made = []
    for _ in range(number):
        parts = [_Writer(rng, isinstance(pattern, bytes)).written(tree) for _ in range(rng.randint(1, 4))]
        text = rng.choice(["", "", "\n", " ", rng.choice(parts)[:1]]).join(parts)[:400]
        for _ in range(rng.choice([0, 1, 1, 2, 4])):
            at, to = sorted(rng.choices(range(len(text) + 1), k=2))
            to = min(to, at + 3)
            text = rng.choice([text[:at] + text[to:], text[:to] + text[at:], text[:to]])
        made.append(text)
    return made


_FEW = "aZ_0 \n-éß"
_OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "07",
    codes.CATEGORY_NOT_DIGIT: "a-\n",
    codes.CATEGORY_SPACE: " \t\n",
    codes.CATEGORY_NOT_SPACE: "a.0",
    codes.CATEGORY_WORD: "aZ_0",
    codes.CATEGORY_NOT_WORD: " -\n",
}


class _Writer:
    """Walks through a parsed pattern, and writes what each part asks for."""

    def __init__(self, rng: random.Random, of_bytes: bool) -> None:
        self._rng = rng
        self._most = 0xFF if of_bytes else 0x10FFFF
        self._groups: dict[int, str] = {}

    def written(self, tree: Any) -> str:
        return "".join(self._one(code, value) for code, value in tree)

    def _one(self, code: Any, value: Any) -> str:
        rng = self._rng
        match code:
            case codes.LITERAL:
                return chr(value)
            case codes.NOT_LITERAL:
                return rng.choice(_FEW)
            case codes.ANY:
                return rng.choice(_FEW)
            case codes.IN:
                return self._of_set(value)
            case codes.BRANCH:
                return self.written(rng.choice(value[1]))
            case codes.SUBPATTERN:
                self._groups[value[0]] = text = self.written(value[3])
                return text
            case codes.ATOMIC_GROUP:
                return self.written(value)
            case codes.ASSERT | codes.ASSERT_NOT:
                return self.written(value[1]) if rng.random() < 0.4 else ""
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                least, most, what = value
                times = rng.choice([least, least, least + 1, least + 2, least + 5])
                return "".join(self.written(what) for _ in range(min(times, int(most))))
            case codes.GROUPREF:
                return self._groups.get(value, "")
            case codes.GROUPREF_EXISTS:
                return self.written(value[1])
            case codes.AT:
                return rng.choice(["", "", "\n"])
        raise AssertionError(code)

    def _of_set(self, members: Any) -> str:
        code, value = self._rng.choice(members)
        if members[0][0] is codes.NEGATE:
            return self._rng.choice(_FEW)
        if code is codes.LITERAL:
            return chr(value)
        if code is codes.RANGE:
            return chr(min(self._most, self._rng.randint(value[0], min(value[1], value[0] + 30))))
        return self._rng.choice(_OF_CATEGORY[value])
