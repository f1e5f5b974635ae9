"""Names of encodings in mail and web pages, and what they mean by the WHATWG standard.

Programs name a small encoding and write its larger superset, and some names are their own inventions.
"""

from __future__ import annotations

from collections.abc import Mapping

_MEANT: Mapping[str, str] = {
    name: codec
    for codec, names in (
        ("cp1252", "iso-8859-1 iso8859-1 latin-1 latin1 l1 ascii us-ascii x-cp1252 ansi_x3.4-1968"),
        ("cp1254", "iso-8859-9 iso8859-9 latin5 latin-5 l5 x-cp1254"),
        ("cp874", "iso-8859-11 tis-620 windows-874 dos-874"),
        ("cp1250", "x-cp1250"),
        ("cp1251", "x-cp1251"),
        ("gb18030", "gb2312 gb_2312 gb_2312-80 gbk x-gbk euc-cn"),
        ("cp932", "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j"),
        ("euc_jp", "x-euc-jp"),
        ("cp949", "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"),
        ("cp950", "big5 big-5 x-x-big5 cn-big5"),
        ("iso8859-6", "iso-8859-6-i iso-8859-6-e"),
        ("iso8859-8", "iso-8859-8-i iso-8859-8-e visual logical"),
        ("koi8_u", "koi8-ru"),
        ("mac_roman", "macintosh mac x-mac-roman"),
        ("mac_cyrillic", "x-mac-cyrillic x-mac-ukrainian"),
        ("utf-7", "unicode-1-1-utf-7 x-unicode-2-0-utf-7"),
        ("utf-8", "unicode-1-1-utf-8 x-utf-8"),
    )
    for name in names.split()
}


def codec_name(name: str) -> str:
    """The encoding that a name means; other names are returned as they are."""
    return _MEANT.get(name.strip().lower(), name)
