"""Characters of Unicode for the letters of symbol fonts: Symbol, Wingdings and Webdings.

Such a font shows `β` for the letter b, or a tick for the code FC.  Files say the code, alone or as one of the
private characters from U+F000 on, and the font.  The usual one of several similar characters is used.

Knows: the tables of these fonts.
Does not know: files and formats.
May be touched: freely.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

_FIRST, _SECOND = 0x20, 0x80
"""Codes at which the two halves of a table begin; between them is the code 7F, which has no sign."""

_SYMBOL = (
    " !\u2200#\u2203%&\u220b"
    "()\u2217+,\u2212./"
    "01234567"
    "89:;<=>?"
    "\u2245\u0391\u0392\u03a7\u0394\u0395\u03a6\u0393"
    "\u0397\u0399\u03d1\u039a\u039b\u039c\u039d\u039f"
    "\u03a0\u0398\u03a1\u03a3\u03a4\u03a5\u03c2\u03a9"
    "\u039e\u03a8\u0396[\u2234]\u22a5_"
    "\u203e\u03b1\u03b2\u03c7\u03b4\u03b5\u03c6\u03b3"
    "\u03b7\u03b9\u03d5\u03ba\u03bb\u03bc\u03bd\u03bf"
    "\u03c0\u03b8\u03c1\u03c3\u03c4\u03c5\u03d6\u03c9"
    "\u03be\u03c8\u03b6{|}\u223c"
    "\ufffd"
    "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"
    "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"
    "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"
    "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"
    "\u20ac\u03d2\u2032\u2264\u2044\u221e\u0192\u2663"
    "\u2666\u2665\u2660\u2194\u2190\u2191\u2192\u2193"
    "\u00b0\u00b1\u2033\u2265\u00d7\u221d\u2202\u2022"
    "\u00f7\u2260\u2261\u2248\u2026\u23d0\u23af\u21b5"
    "\u2135\u2111\u211c\u2118\u2297\u2295\u2205\u2229"
    "\u222a\u2283\u2287\u2284\u2282\u2286\u2208\u2209"
    "\u2220\u2207\u00ae\u00a9\u2122\u220f\u221a\u22c5"
    "\u00ac\u2227\u2228\u21d4\u21d0\u21d1\u21d2\u21d3"
    "\u25ca\u27e8\u00ae\u00a9\u2122\u2211\u239b\u239c"
    "\u239d\u23a1\u23a2\u23a3\u23a7\u23a8\u23a9\u23aa"
    "\uf8ff\u27e9\u222b\u2320\u23ae\u2321\u239e\u239f"
    "\u23a0\u23a4\u23a5\u23a6\u23ab\u23ac\u23ad\ufffd"
)  # fmt: skip

_WINGDINGS = (
    " \u270f\u2702\u2701\U0001f453\U0001f514\U0001f4d6\U0001f56f"
    "\u260e\u2706\u2709\U0001f583\U0001f4ea\U0001f4eb\U0001f4ec\U0001f4ed"
    "\U0001f4c1\U0001f4c2\U0001f4c4\U0001f5cf\U0001f5d0\U0001f5c4\u231b\u2328"
    "\U0001f5b0\U0001f5b2\U0001f5b3\U0001f5b4\U0001f4be\U0001f5ac\u2707\u270d"
    "\U0001f58e\u270c\U0001f44c\U0001f44d\U0001f44e\u261c\u261e\u261d"
    "\u261f\U0001f590\u263a\U0001f610\u2639\U0001f4a3\u2620\U0001f3f3"
    "\U0001f3f1\u2708\u263c\U0001f4a7\u2744\u271d\u271e\U0001f548"
    "\u2720\u2721\u262a\u262f\U0001f549\u2638\u2648\u2649"
    "\u264a\u264b\u264c\u264d\u264e\u264f\u2650\u2651"
    "\u2652\u2653\U0001f670&\u25cf\U0001f53e\u25a0\u25a1"
    "\U0001f790\u2751\u2752\u2b27\u29eb\u25c6\u2756\u2b25"
    "\u2327\u2bb9\u2318\U0001f3f5\U0001f3f6\u201c\u201d"
    "\ufffd"
    "\u24ea\u2460\u2461\u2462\u2463\u2464\u2465\u2466"
    "\u2467\u2468\u2469\u24ff\u2776\u2777\u2778\u2779"
    "\u277a\u277b\u277c\u277d\u277e\u277f\U0001f662\U0001f660"
    "\U0001f661\U0001f663\U0001f65e\U0001f65c\U0001f65d\U0001f65f\u00b7\u2022"
    "\u25aa\u26aa\U0001f786\U0001f788\u25c9\u25ce\U0001f53f\u25aa"
    "\u25fb\U0001f7c2\u2726\u2605\u2736\u2734\u2739\u2735"
    "\u2bd0\u2316\u27e1\u2311\u2bd1\u272a\u2730\U0001f550"
    "\U0001f551\U0001f552\U0001f553\U0001f554\U0001f555\U0001f556\U0001f557\U0001f558"
    "\U0001f559\U0001f55a\U0001f55b\u2bb0\u2bb1\u2bb2\u2bb3\u2bb4"
    "\u2bb5\u2bb6\u2bb7\U0001f66a\U0001f66b\U0001f655\U0001f654\U0001f657"
    "\U0001f656\U0001f650\U0001f651\U0001f652\U0001f653\u232b\u2326\u2b98"
    "\u27a2\u2b99\u2b9b\u2b88\u27b2\u2b89\u2b8b\u2190"
    "\u2192\u2191\u2193\u2196\u2197\u2199\u2198\u2b05"
    "\u2794\u2b06\u2b07\u2b09\u2b08\u2b0b\u2b0a\u21e6"
    "\u21e8\u21e7\u21e9\u2b04\u21f3\u2b01\u2b00\u2b03"
    "\u2b02\u25ad\u25ab\u2717\u2714\u2612\u2611\u229e"
)  # fmt: skip

_WEBDINGS = (
    " \U0001f577\U0001f578\U0001f572\U0001f576\U0001f3c6\U0001f396\U0001f587"
    "\U0001f5e8\U0001f5e9\U0001f5f0\U0001f5f1\U0001f336\U0001f397\U0001f67e\U0001f67c"
    "\U0001f5d5\U0001f5d6\U0001f5d7\u23f4\u23f5\u23f6\u23f7\u23ea"
    "\u23e9\u23ee\u23ed\u23f8\u23f9\u23fa\U0001f5da\U0001f5f3"
    "\U0001f6e0\U0001f3d7\U0001f3d8\U0001f3d9\U0001f3da\U0001f3dc\U0001f3ed\U0001f3db"
    "\U0001f3e0\U0001f3d6\U0001f3dd\U0001f6e3\U0001f50d\U0001f3d4\U0001f441\U0001f442"
    "\U0001f3de\U0001f3d5\U0001f6e4\U0001f3df\U0001f6f3\U0001f56c\U0001f56b\U0001f568"
    "\U0001f508\U0001f394\U0001f395\U0001f5ec\U0001f67d\U0001f5ed\U0001f5ea\U0001f5eb"
    "\u2b94\u2714\U0001f6b2\u2b1c\U0001f6e1\U0001f4e6\U0001f6d1\u2b1b"
    "\U0001f691\U0001f6c8\U0001f6e9\U0001f6f0\U0001f7c8\U0001f574\u2b24\U0001f6e5"
    "\U0001f694\U0001f5d8\U0001f5d9\u2753\U0001f6f2\U0001f687\U0001f68d\u26f3"
    "\u29b8\u2296\U0001f6ad\U0001f5ee|\U0001f5ef\U0001f5f2"
    "\ufffd"
    "\U0001f6b9\U0001f6ba\U0001f6c9\U0001f6ca\U0001f6bc\U0001f47d\U0001f3cb\u26f7"
    "\U0001f3c2\U0001f3cc\U0001f3ca\U0001f3c4\U0001f3cd\U0001f3ce\U0001f698\U0001f5e0"
    "\U0001f6e2\U0001f4b0\U0001f3f7\U0001f4b3\U0001f46a\U0001f5e1\U0001f5e2\U0001f5e3"
    "\u272f\U0001f584\U0001f585\U0001f583\U0001f586\U0001f5b9\U0001f5ba\U0001f5bb"
    "\U0001f575\U0001f570\U0001f5bd\U0001f5be\U0001f4cb\U0001f5d2\U0001f5d3\U0001f56e"
    "\U0001f4da\U0001f5de\U0001f5df\U0001f5c3\U0001f4c7\U0001f5bc\U0001f3ad\U0001f39c"
    "\U0001f398\U0001f399\U0001f3a7\U0001f4bf\U0001f39e\U0001f4f7\U0001f39f\U0001f3ac"
    "\U0001f4fd\U0001f4f9\U0001f4fe\U0001f4fb\U0001f39a\U0001f39b\U0001f4fa\U0001f4bb"
    "\U0001f5a5\U0001f5a6\U0001f5a7\U0001f579\U0001f3ae\U0001f57b\U0001f57c\U0001f4df"
    "\U0001f581\U0001f580\U0001f5a8\U0001f5a9\U0001f5bf\U0001f5aa\U0001f5dc\U0001f512"
    "\U0001f513\U0001f5dd\U0001f4e5\U0001f4e4\U0001f573\U0001f323\U0001f324\U0001f325"
    "\U0001f326\u2601\U0001f328\U0001f327\U0001f329\U0001f32a\U0001f32c\U0001f32b"
    "\U0001f31c\U0001f321\U0001f6cb\U0001f6cf\U0001f37d\U0001f378\U0001f6ce\U0001f6cd"
    "\u24c5\u267f\U0001f6c6\U0001f588\U0001f393\U0001f5e4\U0001f5e5\U0001f5e6"
    "\U0001f5e7\U0001f6ea\U0001f43f\U0001f426\U0001f41f\U0001f415\U0001f408\U0001f66c"
    "\U0001f66e\U0001f66d\U0001f66f\U0001f5fa\U0001f30d\U0001f30f\U0001f30e\U0001f54a"
)  # fmt: skip

_WINGDINGS_2: Mapping[int, str] = {
    0x4F: "\u2717", 0x50: "\u2714", 0x51: "\u2612", 0x52: "\u2611", 0x53: "\u2612", 0x54: "\u2612",
    0x96: "\u2022", 0x97: "\u25cf", 0x98: "\u2b24", 0xA2: "\u25a0", 0xA3: "\u25a1",
    0x69: "\u24ea", 0x74: "\u24ff",
    **{0x6A + at: chr(0x2460 + at) for at in range(10)}, **{0x75 + at: chr(0x2776 + at) for at in range(10)},
}  # fmt: skip
_WINGDINGS_3: Mapping[int, str] = {
    0x70: "\u25b2", 0x71: "\u25bc", 0x72: "\u25b3", 0x73: "\u25bd", 0x74: "\u25c4", 0x75: "\u25ba",
    0x76: "\u25c1",
    0x77: "\u25b7", 0x7C: "\u25c4", 0x7D: "\u25b6", 0x22: "\u2194", 0x66: "\u2190", 0x67: "\u2192",
    0x68: "\u2191", 0x69: "\u2193",
}  # fmt: skip
"""The commonest signs of fonts with many that have no like."""

_NONE = "\ufffd"


def _table(signs: str) -> Mapping[int, str]:
    return {code: sign for code, sign in enumerate(signs, _FIRST) if sign != _NONE}


_FONTS: Mapping[str, Mapping[int, str]] = {
    "symbol": _table(_SYMBOL), "wingdings": _table(_WINGDINGS), "webdings": _table(_WEBDINGS),
    "wingdings 2": _WINGDINGS_2, "wingdings 3": _WINGDINGS_3,
}  # fmt: skip
_ALIKE = {
    "symbolmt": "symbol",
    "symbol mt": "symbol",
    "standard symbols l": "symbol",
    "standard symbols ps": "symbol",
}

_PRIVATE = 0xF000
_NO_CHARACTER = ("Cc", "Cf", "Cn", "Co", "Cs")
_FROM, _TO = chr(_PRIVATE + 0x20), chr(_PRIVATE + 0xFF)


def known(font: str) -> bool:
    """Whether a font shows signs instead of letters."""
    return _name(font) in _FONTS


def sign(font: str, code: int) -> str:
    """The character that a font shows for a code, even a private one; unknown ones by their names."""
    code = code - _PRIVATE if _PRIVATE <= code <= _PRIVATE + 0xFF else code
    found = _FONTS.get(_name(font), {}).get(code)
    if found is not None:
        return found
    # Fonts have places for 256 signs of their own: a code above them is a character.
    if code > 0xFF and unicodedata.category(chr(code)) not in _NO_CHARACTER:
        return chr(code)
    return f"[sign {code:X} of {' '.join(font.split())[:40] or 'an unknown font'}]"


def shown(font: str, text: str) -> str:
    """A text set in a font, translated if that is a symbol font."""
    if not known(font):
        return text
    letters = "".join(sign(font, ord(letter)) if "\x20" < letter <= "\xff" else letter for letter in text)
    return private(font, letters)


def private(font: str, text: str) -> str:
    """A text whose private characters are those of a symbol font."""
    return "".join(sign(font, ord(letter)) if _FROM <= letter <= _TO else letter for letter in text)


def _name(font: str) -> str:
    name = " ".join(font.split()).casefold()
    return _ALIKE.get(name, name)
