"""Messages and mailboxes with a word planted in every kind of place."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping

from tests.documents.formats import compounds, packed_mail
from tests.laws.planting import Format, mark


def part(kind: str, body: str, *headers: str) -> str:
    """A part of a message."""
    return "\r\n".join((f"Content-Type: {kind}", *headers, "", body))


def multipart(kind: str, *parts: str, number: int = 0) -> str:
    """Parts held together."""
    bound = f"bound{number}"
    inner = "".join(f"--{bound}\r\n{inner}\r\n" for inner in parts)
    return f'Content-Type: multipart/{kind}; boundary="{bound}"\r\n\r\n{inner}--{bound}--\r\n'


def encoded(text: str) -> str:
    """Text as mail carries bytes."""
    return base64.b64encode(text.encode()).decode()


_ATTACHED = "Content-Disposition: attachment; filename="
_HEADERS = {"from": "From", "to": "To", "copy": "Cc", "date": "Date", "subject": "Subject"}
_PARTS: Mapping[str, tuple[str, str]] = {
    "text": (part("text/plain", "{}"), ""),
    "text in base64": (part("text/plain; charset=utf-8", "{b}", "Content-Transfer-Encoding: base64"), ""),
    "page": (part("text/html", "<p>{}</p>"), ""),
    "plain form": (
        multipart("alternative", part("text/plain", "{}"), part("text/html", "<p>x</p>"), number=1),
        "",
    ),
    "other form": (
        multipart("alternative", part("text/plain", "x"), part("text/html", "<p>{}</p>"), number=2),
        "other form of the text",
    ),
    "only form": (multipart("alternative", part("text/html", "<p>{}</p>"), number=3), ""),
    "hidden element": (part("text/html", "<p hidden>{}</p>"), "hidden element"),
    "attached text": (part("text/plain", "{}", f'{_ATTACHED}"a.txt"'), ""),
    "name of an attachment": (part("application/octet-stream", "x", f'{_ATTACHED}"{{}}.bin"'), ""),
    "attached page": (part("text/html", "<p>{}</p>", f'{_ATTACHED}"a.html"'), ""),
    "calendar": (part("text/calendar", "SUMMARY:{}"), ""),
    "message": (part("message/rfc822", "Subject: x\r\n\r\n{}"), ""),
    "subject of a message": (part("message/rfc822", "Subject: {}\r\n\r\nx"), ""),
    "attached to a message": (
        part(
            "message/rfc822",
            "Subject: x\r\n" + multipart("mixed", part("text/plain", "{}", f'{_ATTACHED}"b.txt"'), number=4),
        ),
        "",
    ),
    "report": (part("message/delivery-status", "Reporting-MTA: dns; {}\r\n\r\nStatus: 5.0\r\n"), ""),
    "binary": (
        part("application/x-y", "{n}", "Content-Transfer-Encoding: base64", f'{_ATTACHED}"x.y"'),
        "binary file",
    ),
    "rtf": (part("application/rtf", r"{\rtf1 {}\par}", f'{_ATTACHED}"a.rtf"'), ""),
}


def _mail(places: Iterable[str]) -> bytes:
    wanted = list(places)
    head = [f"{_HEADERS[name]}: {mark(name)}" for name in wanted if name in _HEADERS]
    head += [f"X-Other: {mark('other header')}"] if "other header" in wanted else []
    parts = [
        _PARTS[name][0]
        .replace("{b}", encoded(mark(name)))
        .replace("{n}", encoded(f"\0\1{mark(name)}\2"))
        .replace("{}", mark(name))
        for name in wanted
        if name in _PARTS
    ]
    body = multipart("mixed", *(parts or [part("text/plain", "x")]))
    return "\r\n".join((*(head or ["To: x"]), "MIME-Version: 1.0", body)).encode()


MAIL = Format(
    "mail.eml",
    {
        **{name: kind for name, (_, kind) in _PARTS.items()},
        **dict.fromkeys(_HEADERS, ""),
        "other header": "other header",
    },
    _mail,
)


def _mailbox(places: Iterable[str]) -> bytes:
    wanted = list(places)
    letters = []
    if "first" in wanted:
        letters.append(f"From a\nSubject: x\n\n{mark('first')}\n")
    if "second" in wanted:
        letters.append(f"From b\nSubject: x\n\n>From here {mark('second')}\n")
    if "attached" in wanted:
        letters.append(
            "From c\n" + _mail(["attached text"]).decode().replace(mark("attached text"), mark("attached"))
        )
    return "\n".join(letters or ["From a\nTo: x\n\nx\n"]).encode()


MAILBOX = Format("mail.mbox", dict.fromkeys(("first", "second", "attached"), ""), _mailbox)


def _packed(places: Iterable[str]) -> bytes:
    wanted = set(places)
    values: dict[int, str | bytes | int] = {
        int(key[1:], 16): mark(name) for name, key in _TEXTS.items() if name in wanted
    }
    if "other property" in wanted:
        values[0x3A06] = mark("other property")
    rows = [packed_mail.attribute(packed_mail.PROPERTIES, packed_mail.properties(values))]
    if "recipient" in wanted:
        person = struct.pack("<I", 1) + packed_mail.properties({0x3001: mark("recipient")})
        rows.append(packed_mail.attribute(packed_mail.RECIPIENTS, person))
    if "attachment" in wanted:
        rows += packed_mail.attachment("a.txt", mark("attachment").encode())
    if "name of an attachment" in wanted:
        rows += packed_mail.attachment(f"{mark('name of an attachment')}.bin", b"\0\1")
    return packed_mail.packed(*rows)


_TEXTS = {"subject": "p0037", "text": "p1000", "sender": "p0C1A", "receiver": "p0E04", "copy": "p0E03"}


def _outlook(places: Iterable[str]) -> bytes:
    wanted = set(places)
    properties = {key: mark(name) for name, key in _TEXTS.items() if name in wanted}
    streams: dict[str, bytes] = {}
    if "header" in wanted:
        properties["p007D"] = f"Reply-To: {mark('header')}\r\n\r\n"
    if "page" in wanted:
        properties.setdefault("p1000", "x")
        streams["__substg1.0_10130102"] = f"<p>{mark('page')}</p>".encode()
    if "other property" in wanted:
        properties["p3A06"] = mark("other property")
    if "recipient" in wanted:
        streams |= compounds.texts("__recip_version1.0_#00000000/", p3001=mark("recipient"))
    if "attachment" in wanted:
        streams |= compounds.attachment(0, "a.txt", mark("attachment").encode())
    if "message" in wanted:
        folder = "__attach_version1.0_#00000001/"
        streams |= compounds.texts(folder, p3001="inner")
        streams |= compounds.texts(f"{folder}__substg1.0_3701000D/", p1000=mark("message"))
    return compounds.message(streams, **properties)


OUTLOOK = Format(
    "mail.msg",
    {
        **dict.fromkeys(_TEXTS, ""),
        **dict.fromkeys(("header", "recipient", "attachment", "message"), ""),
        "page": "other form of the text",
        "other property": "other property",
    },
    _outlook,
)

PACKED = Format(
    "mail.tnef",
    {
        **dict.fromkeys(_TEXTS, ""),
        **dict.fromkeys(("recipient", "attachment", "name of an attachment"), ""),
        "other property": "other property",
    },
    _packed,
)
