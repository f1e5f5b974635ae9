"""Blank macros in C and C++ that a grammar cannot parse, byte for byte, so that positions stay the same.

A macro can be anywhere and mean anything; these are the places where people put them.  All patterns are
bounded, because a text may be crafted to stall them.  Patterns for the beginning of a line start with the
line feed before it, and patterns after certain words are tried only at those words: searching for literal
bytes takes a tenth of the time of a character class.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections.abc import Iterator, Sequence

_GIVEN = rb"(?:[ \t]*\([^(){};\n]{0,200}(?:\([^(){};\n]{0,200}\)[^(){};\n]{0,200}){0,4}\))?"
"""The arguments of a macro, which may contain parentheses."""

_TYPE_WORDS = (b"class", b"struct", b"union", b"enum")

_FINAL = rb"(?:final|[A-Z_]{1,40}FINAL)\b"
"""`final` after the name of a type, or a macro for it."""

_EXPORTED = re.compile(
    rb"\b(?:class|struct|union|enum(?:[ \t]+class)?|namespace)[ \t]+"
    rb"((?:(?!final\b)(?:[A-Z_][A-Z0-9_]*|__[a-z]\w{0,80}__|\w{1,80}(?:_(?:API|EXPORT|DECL)|E(?:xport|XPORT)))"
    + _GIVEN
    + rb"[ \t\r\n]{1,80}){1,3})"
    rb"(?=(?!" + _FINAL + rb")[A-Za-z_][\w:]*(?:<[^;{}]{0,300}>)?[ \t]*(?:" + _FINAL + rb"\s{0,80})?[:{\r\n])"
)
"""A macro between the keyword and the name of a type, as in `class EXPORT Name : public Base {`."""

_OF_CLASS = re.compile(
    rb"\n[ \t]*class[ \t]+((?!final\b)[A-Za-z_]\w{0,80}[ \t]+)"
    rb"(?=(?!final\b)(?![A-Z_][A-Z0-9_]{3,80}\s{0,80}[:{])[A-Za-z_]\w{0,80}[ \t]*(?:final\b[ \t]*)?"
    rb"(?::[^:]|\r?\n?[ \t]*\{))"
)
"""The same in mixed case, since nothing else can be there, as in `class Exported Name : public Base {`."""

_PARAMETERS = re.compile(rb"(\()\((?=[^;{}]{0,400}?(\)\))[ \t]*[;\n])")
"""A macro that hides parameters from old compilers, as in `int f P((char *));`."""

_WORD_BYTES = (string.ascii_letters + string.digits + "_").encode()

_KEYWORDS = frozenset({b"if", b"while", b"switch", b"for", b"return", b"sizeof", b"defined", b"typeof"})

_ALONE = re.compile(
    rb"\n[ \t]*+(?=[A-Z_])((?:[A-Z_][A-Z0-9_]{2,}|__[a-z]\w*__|PyObject_(?:VAR_)?HEAD|"
    rb"[A-Z][A-Z0-9]+_\w+(?=\())" + _GIVEN + rb")"
    rb"[ \t]*(?=\r?\n|//|/\*)(?!\s{0,80}\*)",
)
"""A line with nothing but a macro, such as `Q_OBJECT` or `NAMESPACE_BEGIN(x)`."""

_MARKED = rb"[a-z]\w{0,40}_(?:inline|unused|noreturn)"
"""Lower-case macros of projects for attributes whose spelling depends on the compiler."""

_LEADING = re.compile(
    rb"\n[ \t]*+(?=[A-Z_eistv])(?:(?:extern|static|inline|virtual|explicit)[ \t]+){0,4}"
    rb"(?:template[ \t]*<[^(){};\n]{0,300}>[ \t]*)?(?:(?:static|inline)[ \t]+)?"
    rb"((?:(?:_?[A-Z][A-Z0-9_]{3,}|__[a-z_]+(?<!__extension__)(?<!__inline__)|" + _MARKED + rb")"
    rb"(?:[ \t]*\([^(){};\n]{0,200}\))?[ \t\r\n]{1,80}){1,4})"
    rb"(?=[A-Za-z_][\w:<>,]*[ \t*&\r\n]{1,80}(?:[A-Za-z_][\w:<>,]*[ \t*&\r\n]{1,80}){0,5}"
    rb"(?:[A-Za-z_~][\w:]*(?:<[^;{}()\n]{0,80}>)?|operator[ \t]*[^\w\s(){};]{1,3})[ \t]*\()",
)
"""Macros before the type of a function, as in `EXPORT int f(void);`."""

_BUILT = re.compile(
    rb"\n[ \t]++(?:(?:inline|explicit)[ \t]+)?([A-Z][A-Z0-9_]{3,}[ \t]+)"
    rb"(?=~?[A-Za-z_]\w*[ \t]*\([^(){};]{0,300}(?:\([^(){};]{0,100}\)[^(){};]{0,100}){0,4}\)\s{0,40}"
    rb"(?:noexcept\s{0,40})?:(?!:)|~[A-Za-z_]\w*[ \t]*\()"
)
"""A macro before a constructor with initializers, or a destructor, as in `INLINE name() : first(0) {}`."""

_STATED = re.compile(
    rb"\n([A-Z][A-Z0-9_]{3,}[ \t]*\((?:[^(){};#\"]{1,400}+|\"(?:[^\"\\\n]|\\.){0,400}\"){0,20}\)[ \t]*;)"
)
"""A call at the margin, as in `DEFINE_FLAG(bool, name, false, "what for");`: a type cannot be an argument."""

_TRAILING = re.compile(
    rb"\)\s{0,40}+(?:(?:const|noexcept|override)[ \t]*+)?"
    rb"((?:(?!NULL\b|__attribute__|__asm)(?:[A-Z_][A-Z0-9_]{3,}+|__[a-z]\w++)" + _GIVEN + rb"\s{0,80}+){1,4})"
    rb"(?=[;{]|override\b|final\b|const\b|noexcept\b|=[ \t]*(?:0|default|delete)[ \t]*;)"
)
"""Macros after the parameters, as in `void f(void) NORETURN;`."""

_CALLING = re.compile(
    rb"\(\s{0,20}([A-Z_][A-Z0-9_]{3,}|__[a-z]+)[ \t]*(?=\*[ \t]*\w{0,80}[ \t]*\)\s{0,20}\()"
)
"""A macro before the star of a function pointer, as in `typedef int (WINAPI *call)(void);`."""

_BETWEEN = re.compile(
    rb"\n[ \t]*+(?=[A-Za-z_])"
    rb"(?:(?:typedef|static|extern|virtual|inline|const|unsigned|signed|struct|enum|union|[A-Z][A-Z0-9_]{3,})"
    rb"[ \t]+){0,4}(?!__[a-z]+[ \t])"
    rb"(?!typedef|static|extern|inline|const|unsigned|signed|struct|enum|union|return|else|case|goto)"
    rb"(?=[A-Z_0-9]{0,80}[a-z])[A-Za-z_]\w*+[ \t*]++([A-Z][A-Z0-9_]{4,})\s{1,80}(?=[A-Za-z_]\w*[ \t]*\()",
)
"""A macro between the type and the name of a function, as in `static int FASTCALL f(void)`."""

_WRAPPED = re.compile(
    rb"\n[ \t]*+(?=[A-Zes])(?:(?:extern|static)[ \t]+)?"
    rb"([A-Z][A-Z0-9_]{3,}[ \t]*\([ \t]*)[A-Za-z_][\w \t*]{0,60}(\))"
    rb"(?=[ \t]+[A-Za-z_]\w*[ \t]*[(;]|"
    rb"\s{1,80}(?=[A-Z0-9_]{0,80}[a-z])(?!(?:if|for|while|switch|return)\b)[A-Za-z_]\w*[ \t]*"
    rb"\([^(){};]{0,400}(?:\([^(){};]{0,100}\)[^(){};]{0,200}){0,4}\)\s{0,40}[;{])",
)
"""A macro around the type of a function, as in `extern EXPORT(int) f(void);`."""

_LISTED = re.compile(rb"\n[ \t]++([A-Z][A-Z0-9_]{2,}+[ \t]*\([ \t]*)[A-Za-z_]\w*([^(){};]{0,200}\))[ \t]*,")
"""A macro around the name of an enumerator, as in `OPTION(NAME, LONG, 1),`."""

_BASED = re.compile(rb"\benum[ \t]*(:[ \t]*[\w:]+(?:[ \t]+\w+){0,3}[ \t]*)\{")
"""The underlying type of an unnamed enumeration, which is not a macro, but unknown to the grammar."""

_BEHIND = re.compile(
    rb"\b(?:class|struct|union|enum|namespace)[ \t]+(?:[A-Z_][A-Z0-9_]*[ \t]+)?[A-Za-z_][\w:]*[ \t]+"
    rb"([A-Z_][A-Z0-9_]{4,}" + _GIVEN + rb")\s{0,80}(?=:(?!:)|\{)"
)
"""A macro after the name of a type, as in `class Name FINAL {`."""

_PACKED = re.compile(rb"(?<=[*&])(\.\.\.)[ \t]*\w")
"""Dots after a star, which are also unknown to the grammar, as in `void f(Args*... given)`."""

_CXX = (
    rb"\n[ \t]*#[ \t]*if(?:def)?[ \t]+(?:defined)?[ \t(]*__cplusplus[^\n]*\n"
    rb"(?:[ \t]*(?://|/\*)[^\n]*\n)?[ \t]*"
)
_LINKED = re.compile(_CXX + rb'(extern[ \t]+"C"[ \t]*\{)')
_UNLINKED = re.compile(_CXX + rb"(\})")
"""The beginning and end of C linkage for C++ compilers."""

_VALUED = re.compile(
    rb"\n[ \t]*+[A-Za-z_]\w*+[ \t]++([A-Z][A-Z0-9_]{3,}+[ \t]*\([^(){};\n]{0,200}\))[ \t]*(?=[=,])"
)
"""A macro after the name of an enumerator, as in `OLD DEPRECATED(1.2, "") = 6,`."""

_POINTED = re.compile(rb"\(\s{0,20}([A-Z_][A-Z0-9_]*)[ \t]+(?=[A-Za-z_]\w*\s{0,20}\)\s{0,20}\()")
"""A macro that includes the star, as in `typedef int (APIENTRYP call)(void);`."""

_STARRED = re.compile(rb"\)[ \t]*\*{1,3}[ \t]*[A-Za-z_,()]")
_TYPE = re.compile(rb"(?:\A|[\s(,])[A-Z][A-Z0-9_]{2,80}(\([ \t]*[A-Za-z_]\w{0,80}[ \t]*\))\Z")
_MAX_TYPE = 200
"""Maximum bytes before a star that may be a macro for a type, as in `MUST_CHECK LIST_OF(NAME) *f(void)`."""

_SECTION = re.compile(rb"\b(?:public|protected|private)[ \t]+(Q_SLOTS|slots)(?=[ \t]*:)")
_SIGNALS = re.compile(rb"\b((?:Q_SIGNALS|signals)[ \t]*:)(?!:)")
"""Words that Qt adds to access specifiers."""

_INSTANCE = re.compile(rb"\n(extern[ \t]+template)\b")
"""The keywords of an explicit instantiation declaration."""

_ATTRIBUTED = re.compile(
    rb"(__attribute__[ \t]*\(\([^();\n]{0,80}(?:\([^();\n]{0,80}\)[^();\n]{0,80}){0,8}\)\))(?=[ \t]*[;,])"
)
"""An attribute after a declarator, as in `typedef float pair __attribute__((vector_size(8)));`."""

_RESTRICTED = re.compile(rb"\*[ \t]*([A-Z_][A-Z0-9_]{3,})[ \t]+(?=[A-Za-z_])")
"""A macro after a star, as in `char * RESTRICT name`."""

_SIMPLE: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    *((_LEADING, b""), (_BETWEEN, b""), (_TRAILING, b")"), (_RESTRICTED, b"*")),
    *((_BUILT, b"("), (_STATED, b");")),
    *((_SECTION, b"slots"), (_SECTION, b"Q_SLOTS")),
    *((_POINTED, b")"), (_CALLING, b"*"), (_WRAPPED, b"("), (_VALUED, b"enum"), (_LISTED, b"enum")),
)
"""Patterns whose groups are blanked, each with bytes that every matching text contains."""

_WORDED: tuple[tuple[re.Pattern[bytes], tuple[bytes, ...]], ...] = (
    (_EXPORTED, (*_TYPE_WORDS, b"namespace")),
    (_BEHIND, (*_TYPE_WORDS, b"namespace")),
    (_OF_CLASS, tuple(b"\n" + margin + b"class" for margin in (b"", b"\t", b"  ", b"    "))),
    (_BASED, (b"enum",)),
    (_PACKED, (b"...",)),
    (_ATTRIBUTED, (b"__attribute__",)),
    (_INSTANCE, (b"\nextern template",)),
    (_SIGNALS, (b"Q_SIGNALS", b"signals")),
)
"""Patterns whose groups are blanked, each with the words that its matches begin with."""

_WORD = re.compile(
    rb"\n#[ \t]*define[ \t]++([a-z_]\w*+)[ \t]*+(?:static|extern|inline|__inline\w*+)?[ \t]*+\r?$",
    re.MULTILINE,
)
"""A word that the file defines for functions, such as `local` for `static`; `_OF_CLASS` finds others."""

_MAX_WORDS = 4

_SPLIT = re.compile(rb"\n[ \t]*#[ \t]*(if[^\n]*)\n")
_BEGUN = re.compile(rb"[ \t]*[\w*][^\n]*[\w),=|&+(]\Z")
"""A line before a condition inside a declaration, as where old and new compilers get different parameters."""

_HEADS = re.compile(
    rb"\n(#[ \t]*if[^\n]*)\n(?:namespace|class|struct)[^\n;{]{0,200}\n"
    rb"(#[ \t]*else[^\n]*\n[^#]{0,400}#[ \t]*endif[^\n]*)\n(?=\w+[^\n]{0,200}\{)",
)
"""A type or namespace whose name follows a condition that selects its head."""

_ASIDE = re.compile(rb"[ \t]*(?:#|//|/?\*)")
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(if|else|elif|endif)[^\n]*\n?", re.MULTILINE)
_MAX_BEFORE = 1000
_MAX_SPLIT = 4096
"""Maximum bytes of such a condition with its branches."""

_BODY = re.compile(rb"\s{0,80}\{")

_OPEN = re.compile(rb"[,{(=|+&<\\-]\s*\Z|\)\s*\Z")
"""The end of a line that continues in the next one."""

_DARK = re.compile(rb"[^\r\n]")
_VALUES = re.compile(rb"\benum\b|=")


def without_macros(source: bytes) -> bytes:
    """The text with blanks for macros that are not valid C or C++ before preprocessing."""
    source = _without_given(b"\n" + source)
    text, words = bytearray(source), dict[bytes, bytes]()
    for found in _placed(source):
        if found.re is _OF_CLASS:
            words[found[1].strip()] = rb"[ \t]*+"
        for group in range(1, len(found.regs)):
            _blank(text, *found.span(group))
    for found in _PARAMETERS.finditer(source):
        line = source.rfind(b"\n", 0, found.start()) + 1
        before = source[line : found.start()]
        given = before.rstrip(b" \t")
        start = len(given.rstrip(_WORD_BYTES))
        name = given[start:]
        if name and not name[:1].isdigit() and name not in _KEYWORDS and not before.lstrip().startswith(b"#"):
            _blank(text, line + start, found.end(1))
            _blank(text, found.end(2) - 1, found.end(2))
    if b'extern "C"' in source:
        opened, closed = list(_LINKED.finditer(source)), list(_UNLINKED.finditer(source))
        for found in (*opened, *closed) if len(opened) == len(closed) else ():
            _blank(text, *found.span(1))
    words |= dict.fromkeys((found[1] for found in _WORD.finditer(source)), b"")
    for word, margin in list(words.items())[:_MAX_WORDS]:
        for found in re.finditer(
            rb"\n" + margin + rb"(" + re.escape(word) + rb")(?=[ \t]+[A-Za-z_])", source
        ):
            _blank(text, *found.span(1))
    for found in _ALONE.finditer(source):
        has_body = found[1].endswith(b")") and _BODY.match(source, found.end())
        wraps = _WRAPPED.match(source, found.start()) is not None
        if not has_body and not wraps and not _is_value(source, found.start()):
            _blank(text, *found.span(1))
    for found in _HEADS.finditer(source):
        _blank(text, *found.span(1))
        _blank(text, *found.span(2))
    _join(text)
    return bytes(text[1:])


def _without_given(source: bytes) -> bytes:
    """The text with blanks for the arguments of macros that stand for types."""
    text: bytearray | None = None
    for found in _STARRED.finditer(source):
        begin, end = max(0, found.start() - _MAX_TYPE), found.start() + 1
        made = _TYPE.search(source[max(begin, source.rfind(b"\n", begin, end)) : end])
        if made is not None:
            text = text or bytearray(source)
            _blank(text, end - len(made[1]), end)
    return source if text is None else bytes(text)


def _placed(source: bytes) -> Iterator[re.Match[bytes]]:
    """All matches of the patterns whose groups are blanked."""
    for pattern, needed in _SIMPLE:
        if needed in source:
            yield from pattern.finditer(source)
    for pattern, words in _WORDED:
        for word in words:
            at = source.find(word)
            while at >= 0:
                found = pattern.match(source, at)
                if found is not None:
                    yield found
                at = source.find(word, at + len(word))


_NEAR = 2
"""Maximum lines between a condition and an error that it may cause."""


def first_branches(source: bytes, errors: Sequence[tuple[int, int]]) -> bytes:
    """The text with only the first branch of each preprocessor condition, and without the conditions.

    The grammar cannot parse branches that are not balanced.  If none of the `errors`, which are ranges of
    lines, is near a condition, the text is unchanged.
    """
    if not _any_near(source, errors):
        return source
    text, taken = bytearray(source), list[bool]()
    dark, since = 0, 0
    for mark in _CONDITION.finditer(source):
        kind = mark[1]
        _blank(text, *mark.span())
        if kind == b"endif" and taken:
            dark -= not taken.pop()
            if not dark and since:
                _blank(text, since, mark.start())
                since = 0
        elif kind == b"if":
            taken.append(True)
        elif taken and taken[-1]:
            taken[-1] = False
            dark += 1
            since = since or mark.start()
    return bytes(text)


def _any_near(source: bytes, errors: Sequence[tuple[int, int]]) -> bool:
    rows, row, counted = list[int](), 1, 0
    for mark in _CONDITION.finditer(source):
        row += source.count(b"\n", counted, mark.start())
        counted = mark.start()
        rows.append(row)
    for first, last in errors:
        at = bisect_left(rows, first - _NEAR)
        if at < len(rows) and rows[at] <= last + _NEAR:
            return True
    return False


def _blank(text: bytearray, first: int, last: int) -> None:
    part = text[first:last]
    text[first:last] = b" " * len(part) if b"\n" not in part else _DARK.sub(b" ", part)


def _is_value(source: bytes, start: int) -> bool:
    """Whether a name that is alone on its line is a value: an enumerator, or an argument."""
    before = source[max(0, start - _MAX_BEFORE) : start].rstrip()
    line = before[before.rfind(b"\n") + 1 :].partition(b"//")[0].partition(b"/*")[0].rstrip()
    if line.endswith(b"\\"):
        return True  # inside a macro definition
    if (
        line.startswith(b"#")
        or _ALONE.match(b"\n" + line + b"\n")
        or not _OPEN.search(line)
        or line.endswith((b"){", b") {"))
    ):
        return False
    return not line.endswith(b"{") or _VALUES.search(line) is not None


def _join(text: bytearray) -> None:
    """Keep one branch of a condition inside a declaration: the one for new compilers, otherwise the first."""
    for found in list(_SPLIT.finditer(text)):
        before = text[max(0, found.start() - _MAX_BEFORE) : found.start()].rstrip()
        line = before[before.rfind(b"\n") + 1 :]
        if not _BEGUN.match(line) or _ASIDE.match(line):
            continue
        marks, depth = [(text.rfind(b"#", 0, found.start(1)), found.end())], 0
        for mark in _CONDITION.finditer(text, found.end(), found.end() + _MAX_SPLIT):
            depth += mark[1] == b"if"
            if not depth:
                marks.append(mark.span())
            if mark[1] == b"endif":
                if not depth:
                    break
                depth -= 1
        else:
            continue
        is_old = b"KR" in found[1] and b"ndef" not in found[1]
        kept = 1 if is_old and len(marks) > 2 else 0
        for at, (begin, end) in enumerate(marks):
            _blank(text, begin, end)
            if at != kept and at + 1 < len(marks):
                _blank(text, end, marks[at + 1][0])
