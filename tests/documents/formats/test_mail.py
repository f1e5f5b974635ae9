"""Messages, mailboxes and items of Outlook: headers, text, and attachments as parts."""

from __future__ import annotations

import base64
import io
import struct
from email.message import EmailMessage

import pytest

from readroom.documents.formats import Document, Unit, Unreadable
from readroom.documents.formats.mail import eml, outlook, tnef
from readroom.documents.limits import MAIL_BYTES
from tests.documents.formats import compounds
from tests.documents.formats import packed_mail as packs
from tests.documents.formats.packages import refused, survives
from tests.documents.reading.making import pdf, png
from tests.each import each


def _opened(message: EmailMessage) -> Document:
    return eml.open_document(io.BytesIO(message.as_bytes()))


def _message(text: str = "Hello,\nworld\n") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Änn <ann@x.test>"
    message["To"] = "bob@x.test"
    message["Subject"] = "Grüße aus Köln"
    message.set_content(text)
    return message


def test_headers_are_decoded_and_stand_before_the_text() -> None:
    document = _opened(_message())
    assert (document.unit, document.titles) == (Unit.PART, ["Grüße aus Köln"])
    assert document.part(1).lines == [
        "From: Änn <ann@x.test>", "To: bob@x.test", "Subject: Grüße aus Köln", "", "Hello,", "world",
    ]  # fmt: skip


def test_attachments_are_parts_that_show_what_they_are() -> None:
    message = _message()
    message.add_attachment(
        pdf([["page one"], ["page two"]]), maintype="application", subtype="pdf", filename="a.pdf"
    )
    message.add_attachment("x = 1\n", filename="b.py")
    message.add_attachment(png(2, 2), maintype="image", subtype="png", filename="c.png")
    message.add_attachment(b"\0\1", maintype="application", subtype="x-y", filename="../../d.bin")
    document = _opened(message)
    assert list(document.titles[1:]) == ["a.pdf", "b.py", "c.png", "d.bin"]
    assert [line for line in document.part(1).lines if line.startswith("[attachment")][1:2] == [
        "[attachment: b.py, text/plain, 6 bytes: part 3]"
    ]
    assert document.part(2).lines == ["[page 1]", "page one", "[page 2]", "page two"]
    assert document.part(3).lines == ["x = 1"]
    assert [picture.mime for picture in document.part(4).pictures] == ["image/png"]
    assert document.part(5).notes == ["It is a binary file (application/x-y, 2 bytes), and is not shown."]


def test_names_of_attachments_that_could_be_misread_are_quoted() -> None:
    message = _message()
    message.add_attachment(b"x", maintype="text", subtype="plain", filename="\x1b[2Ja.txt]")
    assert '[attachment: "\\033[2Ja.txt]", text/plain, 1 bytes: part 2]' in _opened(message).part(1).lines


def test_a_message_in_a_message_is_a_part_and_so_is_what_it_carries() -> None:
    inner = _message("inner text\n")
    inner.replace_header("Subject", "inner")
    inner.add_attachment("deep\n", filename="deep.txt")
    outer = _message("outer text\n")
    outer.add_attachment(inner)
    document = _opened(outer)
    assert document.titles == ["Grüße aus Köln", "inner", "deep.txt"]
    assert [(at.level, at.part) for at in document.contents] == [(1, 1), (2, 2), (3, 3)]
    assert "inner text" in document.part(2).lines
    assert document.part(3).lines == ["deep"]


@pytest.mark.parametrize(("plain", "line"), [("plain\n", "plain"), (" \n", "from HTML")])
def test_the_plain_form_is_shown_where_it_has_words(plain: str, line: str) -> None:
    message = _message(plain)
    message.add_alternative("<p>from <b>HTML</b></p>", subtype="html")
    assert _opened(message).part(1).lines[-1] == line


def test_a_charset_that_is_not_true_is_found_out() -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n" + "Größe, Straße und Käse".encode(
        "cp1252"
    )
    assert eml.open_document(io.BytesIO(data)).part(1).lines[-1] == "Größe, Straße und Käse"


@each("charset", ["undefined", "punycode", "rot13", "zip", "no such", "a\0b"])
@each("kind", ["plain", "html"])
def test_a_charset_that_is_none_leaves_the_text_readable(charset: str, kind: str) -> None:
    """Python knows some that no mail has, and whose failures are those of no others."""
    head = f'Subject: =?{charset}?q?x-=E9?=\nContent-Type: text/{kind}; charset="{charset}"\n\n'
    data = head.encode() + "Käse-é".encode()
    assert eml.open_document(io.BytesIO(data)).part(1).lines[-1] == "Käse-é"


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_headers_that_are_not_encoded_are_read_all_the_same(charset: str) -> None:
    data = "Subject: Grüße\nTo: Jörg <j@x.test>\n\nTschüß\n".encode(charset)
    assert eml.open_document(io.BytesIO(data)).part(1).lines == [
        "To: Jörg <j@x.test>",
        "Subject: Grüße",
        "",
        "Tschüß",
    ]


def test_a_mailbox_has_its_messages_with_their_attachments() -> None:
    second = _message("second\n")
    second.add_attachment("in it\n", filename="a.txt")
    box = b"From a\nSubject: one\n\n>From here\nFrom there\n\nFrom b\n" + second.as_bytes()
    document = eml.open_document(io.BytesIO(box))
    assert document.titles == ["one", "Grüße aus Köln", "a.txt"]
    assert document.part(1).lines == ["Subject: one", "", "From here", "From there"]


def test_a_large_mailbox_is_read_message_by_message() -> None:
    large = b"From a\nSubject: one\n\n" + b"x" * MAIL_BYTES + b"\n\n"
    second = _message("second\n")
    second.add_attachment("in it\n", filename="a.txt")
    document = eml.open_document(io.BytesIO(large + b"From b\n" + second.as_bytes()))
    assert document.titles == ["one", "Grüße aus Köln"]
    with pytest.raises(Unreadable, match="it is a message of more than"):
        document.part(1)
    part = document.part(2)
    assert "[attachment: a.txt, text/plain, 6 bytes]" in part.lines
    assert part.notes == ["Not shown: 1 attachment."]


def test_what_does_not_start_as_a_message_is_refused() -> None:
    assert "header" in refused(eml.open_document, io.BytesIO(b"just text\n")).problem


def test_an_item_of_outlook_is_laid_out_as_a_message() -> None:
    inner = "__attach_version1.0_#00000001/__substg1.0_3701000D/"
    data = compounds.message(
        {
            **compounds.attachment(0, "a.csv", b"x,y\n1,2\n", "text/csv"),
            **compounds.texts(inner, p0037="inner", p1000="inside"),
        },
        p0037="subject", p1000="body\r\n", p0C1A="Ann", p0C1F="ann@x.test",
    )  # fmt: skip
    document = outlook.open_document(io.BytesIO(data))
    assert document.titles == ["subject", "a.csv", "inner"]
    assert document.part(1).lines[:4] == ["From: Ann <ann@x.test>", "Subject: subject", "", "body"]
    assert document.part(2).lines == ["x,y", "1,2"]
    assert document.part(3).lines == ["Subject: inner", "", "inside"]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("<ANN@x.test>", "Ann Ä. <ann@x.test>"),
        ("Dr. A <ann@x.test>", "Dr. A <ann@x.test>"),
        ("list@x.test, ann@x.test", "list@x.test, ann@x.test"),
    ],
)
def test_headers_of_bare_addresses_have_the_names_that_outlook_knows(sent: str, shown: str) -> None:
    headers = f"From: {sent}\r\nX-Other: 1\r\n\r\n"
    data = compounds.message({}, p007D=headers, p0C1A="Ann Ä.", p0C1F="ann@x.test", p1000="body")
    assert outlook.open_document(io.BytesIO(data)).part(1).lines[0] == f"From: {shown}"


def test_texts_of_old_items_are_in_the_encoding_that_the_message_names() -> None:
    page = struct.pack("<HHI", 3, 0x3FDE, 6) + struct.pack("<II", 1251, 0)
    data = compounds.message(
        {"__properties_version1.0": bytes(32) + page, "__substg1.0_1000001E": "Привет, мир".encode("cp1251")}
    )
    assert outlook.open_document(io.BytesIO(data)).part(1).lines[-1] == "Привет, мир"


def _packed() -> bytes:
    inner = packs.packed(
        packs.attribute(packs.PROPERTIES, packs.properties({0x37: "inner", 0x1000: "inside"}))
    )
    to = packs.properties({0x0C15: 1, 0x3001: "Bob", 0x39FE: "bob@x.test"})
    own = packs.properties({0x37: "Grüße", 0x3A06: "other"}, packs.named(0x8005, "program", 7))
    return packs.packed(
        packs.attribute(packs.PAGE, struct.pack("<II", 1251, 0)),
        packs.attribute(packs.SUBJECT, b"older\0"),
        packs.attribute(packs.BODY, "Привет\r\nмир\0".encode("cp1251")),
        packs.attribute(packs.RECIPIENTS, struct.pack("<I", 1) + to),
        packs.attribute(packs.PROPERTIES, own),
        *packs.attachment("A.CSV", b"x,y\n1,2\n", long=packs.properties({0x3707: "a longer name.csv"})),
        *packs.attachment("empty.txt", b""),
        packs.attribute(packs.BEGIN, bytes(14), 2),
        packs.attribute(packs.ATTACHED, packs.properties({0x3001: "letter"}, packs.object_of(inner)), 2),
    )


def test_a_message_that_outlook_packed_is_laid_out_as_one_of_its_own() -> None:
    document = tnef.open_document(io.BytesIO(_packed()))
    assert document.titles == ["Grüße", "a longer name.csv", "empty.txt", "inner"]
    assert document.part(1).lines == [
        "To: Bob <bob@x.test>",
        "Subject: Grüße",
        "",
        "Привет",
        "мир",
        "",
        "[attachment: a longer name.csv, application/octet-stream, 8 bytes: part 2]",
        "[attachment: empty.txt, application/octet-stream: part 3]",
        "[attachment: letter, application/ms-tnef, 69 bytes: part 4]",
    ]
    assert document.part(1).notes == ["Not shown: 1 other property."]
    assert (document.part(2).lines, document.part(3).lines) == (["x,y", "1,2"], [])
    assert document.part(4).lines == ["Subject: inner", "", "inside"]


def test_what_outlook_packed_into_an_attachment_is_opened() -> None:
    message = _message()
    message.add_attachment(_packed(), maintype="application", subtype="ms-tnef", filename="winmail.dat")
    document = _opened(message)
    assert list(document.titles)[1:] == ["Grüße", "a longer name.csv", "empty.txt", "inner"]
    assert document.part(3).lines == ["x,y", "1,2"]


def test_a_packed_message_cut_or_changed_anywhere_says_so_or_is_refused() -> None:
    whole = _packed()
    cut = tnef.open_document(io.BytesIO(whole[: whole.index(b"x,y")]))
    assert cut.part(1).notes[0] == "It is damaged or cut short, and the rest is not shown."
    for size in range(0, len(whole), 5):
        survives(tnef.open_document, whole[:size])
    for at in range(0, len(whole), 3):
        survives(tnef.open_document, whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])


def test_a_message_that_is_only_rtf_shows_its_text() -> None:
    # The example of the specification: its second half repeats what was written before.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert outlook.unpacked(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    data = compounds.message({"__substg1.0_10090102": packed}, p0037="x")
    assert outlook.open_document(io.BytesIO(data)).part(1).lines[-1] == "hello world"


@each(
    ("named", "written", "words"),
    [
        ("iso-8859-1", "cp1252", "“smart” – 5 €"),
        ("us-ascii", "cp1252", "it’s"),
        ("gb2312", "gb18030", "朱镕基"),
        ("shift_jis", "cp932", "①～髙"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
        ("x-mac-roman", "mac_roman", "café"),
        ("windows-874", "cp874", "ภาษาไทย"),
        ("iso-8859-8-i", "iso8859-8", "שלום עולם"),
    ],
)
@each("kind", ["plain", "html"])
def test_a_charset_means_the_larger_one_that_programs_write_for_it(
    named: str, written: str, words: str, kind: str
) -> None:
    head = "Subject: =?{named}?b?{words}?=\nContent-Type: text/{kind}; charset={named}\n\n"
    encoded = base64.b64encode(words.encode(written)).decode()
    data = head.format(named=named, words=encoded, kind=kind).encode() + words.encode(written)
    assert eml.open_document(io.BytesIO(data)).part(1).lines == [f"Subject: {words}", "", words]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_of_a_subject_on_two_lines_stay_apart(end: str) -> None:
    subject = f"Subject: =?utf-8?b?R3LD?= =?utf-8?b?vMOfZQ==?= and{end} =?utf-8?q?more?={end}\tplain"
    document = eml.open_document(io.BytesIO(f"{subject}{end}{end}text{end}".encode()))
    assert document.titles == ["Grüße and more plain"]


def test_a_message_that_is_attached_in_base64_is_read() -> None:
    inner = base64.encodebytes(b"Subject: inner\n\ninner text\n").decode()
    data = f"Subject: x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{inner}".encode()
    document = eml.open_document(io.BytesIO(data))
    assert document.titles == ["x", "inner"]
    assert document.part(2).lines == ["Subject: inner", "", "inner text"]


def test_text_beside_the_parts_of_a_message_is_counted() -> None:
    message = (
        "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n{before}\n--b\n\nbody\n--b--\n{behind}\n"
    )
    for before, behind, notes in (
        ("This is a multi-part message in MIME format.", "", []),
        ("", "", []),
        ("one", "two", ["Not shown: 2 texts outside of its parts."]),
    ):
        data = message.format(before=before, behind=behind).encode()
        assert eml.open_document(io.BytesIO(data)).part(1).notes == notes


@each("said", ["{length}      ", "0", "9999999999"])
@each("behind", ["", "<?xml version='1.0'?><plist/>\n"])
def test_messages_of_apple_mail_end_before_their_list(said: str, behind: str) -> None:
    text = "From: a@x.test\nSubject: x\n\nbody\n"
    data = said.format(length=len(text)) + f"\n{text}{behind}"
    lines = eml.open_document(io.BytesIO(data.encode())).part(1).lines
    assert lines[3] == "body"
    assert len(lines) == (4 if "length" in said or not behind else 5)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b'attachment; filename="r\xc3\xa9sum\xc3\xa9.txt"', "résumé.txt"),
        (b'attachment; filename="r\xe9sum\xe9.txt"', "résumé.txt"),
        (b'attachment; filename=".e\0nv"', ".env"),
    ],
)
def test_names_of_attachments_that_are_not_encoded(header: bytes, name: str) -> None:
    data = b"Subject: x\nContent-Type: text/plain\nContent-Disposition: " + header + b"\n\nwords\n"
    assert eml.open_document(io.BytesIO(data)).titles == ["x", name]


def test_a_mailbox_may_begin_with_blank_lines() -> None:
    data = b"\r\n\r\nFrom ann\r\nSubject: one\r\n\r\n1\r\n\r\nFrom bob\r\nSubject: two\r\n\r\n2\r\n"
    assert eml.open_document(io.BytesIO(data)).titles == ["one", "two"]


def test_lines_that_a_program_broke_are_whole_again() -> None:
    """RFC 3676: a blank at an end goes on, within the depth of a quotation, not before a signature."""
    head = b"From: a@b\r\nSubject: x\r\nContent-Type: text/plain; charset=utf-8; format=flowed%s\r\n\r\n"
    body = (
        b"One sentence \r\nin two lines.\r\n\r\n> quoted \r\n> words \r\n>> deeper\r\n"
        b"  indented\r\nlast \r\n-- \r\nAnn \r\n"
    )
    lines = eml.letter(head % b"" + body).lines
    assert list(lines) == [
        "One sentence in two lines.", "", "> quoted words", ">> deeper", " indented", "last", "--", "Ann",
    ]  # fmt: skip
    assert eml.letter(head % b"; delsp=yes" + b"Wort \r\nteil\r\n").lines == ["Wortteil"]
    fixed = head.replace(b"; format=flowed%s", b"")
    assert eml.letter(fixed + b"One \r\ntwo\r\n").lines == ["One", "two"]
