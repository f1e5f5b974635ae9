"""Each place of a name, in every language: definition, call, import, other use, text, comment."""

from __future__ import annotations

import re
from importlib.util import find_spec

from readroom.core.deadline import Deadline
from readroom.core.outline import Unparsable
from readroom.core.outline.grammars import GRAMMARS, grammar_of
from readroom.core.outline.uses import Uses, parsed
from readroom.core.outline.uses.roles import ROLES
from tests.each import each

LETTERS = {"definition": "D", "call": "C", "import": "I", "use": "u", "text": "t", "comment": "#"}


def _kinds(language: str, text: str) -> dict[str, str] | None:
    """For each name the kinds of its places in order, as letters; an uncertain one is followed by "?"."""
    source = text.encode()
    try:
        uses = parsed(source, language, Deadline(60))
    except Unparsable:
        return None  # its grammar belongs to an extra
    found: dict[str, str] = {}
    at = 0
    for number, line in enumerate(source.split(b"\n"), 1):
        for name in dict.fromkeys(re.findall(rb"[^\W\d]\w*", line.decode().encode())):
            pattern = rb"(?<!\w)" + re.escape(name) + rb"(?!\w)"
            places = [(at + one.start(), at + one.end()) for one in re.finditer(pattern, line)]
            for use in uses.of_line(number, places, Deadline(60)):
                letter = LETTERS[use.kind] + ("" if use.certain else "?")
                found[name.decode()] = found.get(name.decode(), "") + letter
        at += len(line) + 1
    return found


# fmt: off
CASES = [
    ("python", "def f(a, *b, c: int = 1, **d):\n    return f(a)", "f=DC a=Du b=D c=D"),
    ("python", "import m.n as o\nfrom m import n\nm.n()", "m=IIu n=IIC o=I"),
    ("python", "class K(B):\n    def g(self):\n        self.h, z = self.h, z", "K=D B=u h=Du"),
    ("python", "o.h = 1\nx: int = y\nfor i, (j, k) in e: pass", "h=u x=D y=u j=D e=u"),
    ("python", "@dec\n@q.dec(1)\ndef f(): ...  # dec", "dec=CC#"),
    ("python", 'p = f"{v} v {w(1)}"\n"""v"""', "v=utt w=C"),
    ("python", "with o as h: pass\n(n := 1)\n[u for u in v]", "h=D n=D u=uD v=u"),
    ("python", "class K[T]: x: d[T]\ndef f[U](a: t[U, V]) -> t[V]: ...", "T=Du x=D d=u U=Du V=uu t=uu"),
    ("javascript", "const {c, d: e, ...r} = q; c(); new c.D();", "c=DCu d=u e=D r=D D=C"),
    ("javascript", "const a = require('a'); import b, {c as d} from './b'", "a=It b=II c=I d=I"),
    ("javascript", "exports.a = a; this.b = 1; o.c = 2; z = 1", "a=Du b=D c=u z=u"),
    ("javascript", "X.prototype.go = function (p) { return `p ${p}` }", "go=D p=Dtu"),
    ("javascript", "(o.f)(x); (x => x)(y); (x, g)(z)", "o=u f=C x=uDuu y=u g=u"),
    ("javascript", "export {f as g} from 'y'; export {f}", "f=Iu g=I y=I"),
    ("javascript", "function f(p) { var a = require('b') } var {c, d} = require('e').g",
     "f=D p=D a=I c=I d=I g=u"),
    ("typescript", "type A<T> = T extends B<infer U> ? U : { [k: string]: T }", "A=D T=Duu U=Du k=D"),
    ("typescript", "class C { m = 1; f() { this.m = 2 } } const o = { [K]: 1 }", "m=Du K=u"),
    ("tsx", "const A = () => <B c={c}>B</B>; // B", "A=D B=Ctu# c=uu"),
    ("typescript", "interface I { m(x: T): void; p?: T } enum E { X, Y = 1 }", "I=D m=D T=uu Y=D"),
    ("typescript", "class A<T> { constructor(private z: Z) {} m = f<T>(1) }", "T=Du z=D Z=u f=C"),
    ("go", 'import h "net/http"\nfunc (r *T) M(a int) { x := r.M(a); h.Get(x) }', "h=Iu http=I M=DC x=Du"),
    ("go", "package p\ntype T struct { A int }\nvar v = T{A: 1}\nconst C = v.A", "T=Du A=Duu v=Du C=D"),
    ("rust", "use a::b; fn f<T>(p: T) { let (x, _) = b(p); m!(x, f(1)); }", "b=IC f=DC m=C x=Du"),
    ("rust", "struct S { a: A } impl S { fn n(&self) -> A { self.a.n() } }", "S=Du a=Du A=uu n=DC"),
    ("java", "import a.B; class C<T> { int x = y; void m(T p) { m(p); new C<T>(x); } }",
     "B=I C=DC m=DC x=Du"),
    ("c", "#define M(a) f(a)\nint f(int a);\nint f(int a) { return M(a); }", "M=DC f=CDD a=DuDDu"),
    ("c", '#include "s.h"\nstruct s;\nstruct s { int m; };\nstruct s *v, w[2];', "s=IDDu m=D v=D w=D"),
    ("cpp", "using n::f; class K { K(); void m(); }; void K::m() { p->m(); new K(); }", "f=I K=DDuC m=DDC"),
    ("cpp", "template<class T> T g(T t, int u = 1); auto& [a, b] = g<int>(2);", "T=Duu g=DC t=D u=D"),
    ("c_sharp", "using A.B; class C { int x = 1; void M(int p) { o.M<int>(x); new C(); } }",
     "B=I C=DC M=DC x=Du"),
    ("php", "<?php use A\\B; function f($x) { $y = $x->m(f(1)); new B(); }", "B=IC f=DC x=Du m=C y=D"),
    ("ruby", "class A\n  attr_reader :n\n  def m(p = 1); x = o.m(p); end\nend # m",
     "A=D n=D m=DC# p=Du x=D"),
    ("bash", "f() { local x=1; }\nf a # f\necho 'f'", "f=DC#t x=D"),
    ("lua", 'local m = require "m"\nfunction m.f(a) return m.f(a) end', "m=Ituu f=DC a=Du"),
    ("kotlin", "import a.B\nfun f(x: Int): Int = f(x) // f", "B=I f=DC#"),
    ("swift", "import A\nfunc f() { f() } // f", "A=I f=DC#"),
    ("scala", "import a.B\ndef f(x: Int): Int = f(x) // f", "B=I f=DC#"),
    ("dart", "int f(int a) { return f(a); } // f", "f=DC#"),
    ("elixir", "defmodule A do\n  def f(x), do: f(x) # f\nend", "A=D f=DC#"),
    ("zig", "fn f(a: u8) u8 {\n    return f(a);\n} // f", "f=DC#"),
    ("haskell", "import A.B\nf x = x -- f", "B=I f=D#"),
    ("css", ".foo { color: red } /* foo */", "foo=D#"),
    ("vue", '<script>\nfunction f() { f() }\n</script>\n<b @click="f">', "f=DCu?"),
]
# fmt: on


@each(("language", "text", "wanted"), CASES)
def test_what_each_place_of_a_name_is(language: str, text: str, wanted: str) -> None:
    kinds = dict(word.split("=") for word in wanted.split())
    found = _kinds(language, text)
    if found is None:
        assert find_spec(grammar_of(language).module) is None
        return
    assert {name: found.get(name) for name in kinds} == kinds, text


def test_every_grammar_has_its_roles() -> None:
    assert ROLES.keys() == GRAMMARS.keys()
    assert {language for language, _, _ in CASES} | {"svelte"} == GRAMMARS.keys()


def test_what_does_not_parse_is_not_certain() -> None:
    found = _kinds("python", "def f():\n    x = = 1\n    f(2)\n\n\ndef g():\n    return g()\n")
    assert found is not None
    assert found["x"] == "D?"
    assert found["f"] == found["g"] == "DC"


def test_a_part_of_a_longer_name_is_not_certain() -> None:
    found = _kinds("javascript", "m$; $m; m")
    assert found is not None
    assert found["m"] == "u?uu"


def test_broken_bytes_move_no_place() -> None:
    source = b"# \xff\xfe\ndef f():\n    f()\n"
    uses: Uses = parsed(source, "python", Deadline(60))
    at = source.rindex(b"f()")
    assert [use.kind for use in uses.of_line(3, [(at, at + 1)], Deadline(60))] == ["call"]
