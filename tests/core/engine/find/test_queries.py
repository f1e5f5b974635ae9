"""Questions of every sort get an answer or a sentence: short, endless, in any script, hostile."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom import Workspace
from readroom.core.errors import BadCursor, BadValue
from readroom.core.stores.memory import MemoryStore
from tests.core.engine.find.test_find import STOCK, workspace
from tests.each import each
from tests.laws.driving import Driver, fact

SCRIPTS = {
    "zh.md": "# 配置\n\n数据库连接超时后会自动重试三次。\n",
    "ja.md": "# 設定\n\nデータベース接続がタイムアウトした場合は再試行します。\n",
    "ru.md": "# Настройки\n\nСоединение с базой данных повторяется трижды.\n",
    "fr.md": "# Réglages\n\nLa connexion à la base est réessayée trois fois après un délai dépassé.\n",
    "el.md": "# Ρυθμίσεις\n\nΗ σύνδεση με τη βάση επαναλαμβάνεται.\n",
    "ko.md": "# 설정\n\n데이터베이스의 연결이 끊기면 세 번 다시 시도합니다.\n",
    "th.md": "# ตั้งค่า\n\nเชื่อมต่อฐานข้อมูลใหม่สามครั้ง\n",
    "code.py": "def connect(retries=3):\n    return open_database(retries)\n",
}


@each(
    ("question", "path"),
    [
        ("数据库连接超时", "zh.md"),
        ("データベースの再試行", "ja.md"),
        ("соединения с базами", "ru.md"),
        ("reglages de la connexion depassee", "fr.md"),
        ("RÉGLAGES RÉESSAYÉE", "fr.md"),
        ("σύνδεση βάση", "el.md"),
        ("ฐานข้อมูล", "th.md"),
        ("데이터베이스 연결", "ko.md"),
        ("how does connecting retry?", "code.py"),
    ],
)
def test_scripts_are_found_by_their_own_words(question: str, path: str) -> None:
    (first, *_) = fact(workspace(SCRIPTS).find(question, output="files"), "files")
    assert first["path"] == path


@each(
    ("question", "text", "other"),
    [
        ("websocket ping", "class RealWebSocket:\n    ping = 1\n", "ping = 2\n"),
        ("filename", "def fileName():\n    return 1\n", "file = name\n"),
        ("where is the ETag checked", "etag = request.headers\n", "tag = 1\n"),
        ("IPv6 addresses", "ipv6_addresses = []\n", "version6 = addresses\n"),
        ("how are URLs parsed", "url.parse()\n", "ls.parse()\n"),
        ("url", "def parseURLs():\n    return 1\n", "curls\n"),
        ("office file", "The oﬃce keeps the ﬁle.\n", "off ice\n"),
        ("oﬃce ﬁle", "The office keeps the file.\n", "o ce le\n"),
        ("Hauptstrasse", "Die Hauptstraße ist lang.\n", "Haupt strase\n"),
        ("קובץ", "# מחיקת הקובץ והקובץ השני\n", "# מחיקה\n"),
        ("הקובץ", "# קובץ אחד\n", "# מחיקה\n"),
        ("ملف", "# حذف الملف والملف الآخر\n", "# حذف\n"),
        ("بالملف", "# ملف واحد\n", "# حذف\n"),
    ],
)
def test_a_word_is_found_however_it_is_spelled(question: str, text: str, other: str) -> None:
    """As one word or with humps, as a plural of capitals, with ligatures, with an article before it."""
    files = fact(workspace({"b.txt": text, "a.txt": other}).find(question), "files")
    assert files[0]["path"] == "b.txt"
    assert fact(workspace({"b.txt": f"{text}\n" * 2}).find(question, explain=True), "files")[0]["passages"]


def test_a_file_named_in_two_words_is_the_one_that_is_asked_for() -> None:
    files = {f"net/{name}.py": "ping = 1\n" for name in ("a", "web_socket", "web", "socket")}
    (first, *_) = fact(workspace(files).find("websocket ping", output="files"), "files")
    assert first["path"] == "net/web_socket.py"


def test_ligatures_before_a_word_move_no_line() -> None:
    text = "ﬁﬂﬃ ß œ\n" * 60 + "\nneedle\n" + "ﬃ\n" * 60
    reply = workspace({"a.txt": text}).find("needle", explain=True)
    (file,) = fact(reply, "files")
    assert any(one["start"] <= 62 <= one["end"] for one in file["passages"])


@each("question", ["", " ", "?!", "\n\t", "()[]{}", "…", "---", "\x00"])
def test_a_question_without_a_word_is_refused_with_advice(question: str) -> None:
    with pytest.raises(BadValue, match="contains no word"):
        workspace(STOCK).find(question)


@each("question", ["x", "the", "a b c", "7", "_", "is it?"])
def test_the_shortest_questions_are_answered(question: str) -> None:
    if any(letter.isalnum() for letter in question):
        assert fact(workspace(STOCK).find(question), "searched_files") == 5


@each("question", ["cart(.*", "[cart", "cart+*?{2}", "^cart$|\\bprice\\b", "(?i)CART", "a|b|cart"])
def test_marks_of_patterns_mean_nothing(question: str) -> None:
    assert fact(workspace(STOCK).find(question), "shown") > 0


def test_a_thousand_words_are_answered_and_what_was_not_looked_for_is_told() -> None:
    words = [
        f"{first}{second}{third}word"
        for first in "abcdefghij"
        for second in "klmnopqrst"
        for third in "uvwxyzabcd"
    ]
    reply = workspace(STOCK).find("total price\n" + " ".join(words))
    assert fact(reply, "files")[0]["path"] == "shop/cart.py"
    assert fact(reply, "left_words") > 900
    assert "words of the query not searched for" in reply.text


def test_a_long_question_is_not_repeated_in_the_next_call() -> None:
    question = "needle\n" + "2026-11-22 12:00:00 ERROR connection reset by peer\n" * 300
    files = {f"f{number}.txt": "needle connection\n" * 60 for number in range(30)}
    reply = workspace(files).find(question)
    assert len(reply.text) < len(question)
    assert 'the same call with cursor="' in reply.text
    assert fact(reply, "next")["arguments"]["query"] == question


def test_of_a_pasted_log_the_rare_words_count() -> None:
    log = "".join(f"2026-11-22 12:{minute:02}:00 INFO worker request served ok\n" for minute in range(60))
    log += 'File "shop/ledger.py", line 7, in reconcile\nLedgerMismatch: totals differ\n'
    files = {
        **{
            f"worker_{number}.py": "def serve(request):\n    worker = request.worker\n    return ok\n"
            for number in range(30)
        },
        "shop/ledger.py": "class LedgerMismatch(Exception):\n    pass\n\n\n"
        "def reconcile(totals):\n    raise LedgerMismatch\n",
    }
    (first, *_) = fact(workspace(files).find(log), "files")
    assert first["path"] == "shop/ledger.py"
    # However long it is: what went wrong stands at its end as a rule.
    beats = "".join(
        f"2026-11-22 12:{at // 60 % 60:02}:{at % 60:02} INFO worker={at:x} request={at * at:x} served ok\n"
        for at in range(20_000)
    )
    reply = workspace(files).find(beats + log)
    (first, *_) = fact(reply, "files")
    assert first["path"] == "shop/ledger.py"
    assert len(reply.text) < len(log)


_ALPHABET = st.sampled_from(string.printable + "äöéßИяж数据库ひらकि\u200b\u202e\ud800🙂") | st.characters()


@given(st.text(_ALPHABET, max_size=60))
def test_any_text_is_a_question_or_is_refused_in_words(question: str) -> None:
    driver = Driver(MemoryStore({path: text.encode() for path, text in {**STOCK, **SCRIPTS}.items()}))
    reply = driver.call("find_relevant", query=question, budget_tokens=200)
    if reply.is_error:
        assert fact(reply, "error")["code"] in ("bad_value", "bad_arguments")


@given(st.binary(max_size=300), st.text("abc déÉ数据\n\r\t", min_size=1, max_size=12))
def test_any_bytes_are_a_file(data: bytes, question: str) -> None:
    room = Workspace(MemoryStore({"x": data, "a.py": data, "b.md": data, "c.log": data}))
    reply = room.call("find_relevant", {"query": "abc " + question})
    assert not reply.is_error, reply.text


def test_a_cursor_that_lost_its_end_is_refused_or_said() -> None:
    """It would begin again where nobody asked it to."""
    lines = "def budget():\n    return 1\n" * 20
    searched = workspace({f"module_{number}.py": lines for number in range(30)})
    first = searched.find("budget return", budget_tokens=300)
    cursor = fact(first, "next")["arguments"]["cursor"]
    assert not searched.find("budget return", budget_tokens=300, cursor=cursor).is_error
    with pytest.raises(BadCursor):
        searched.find("budget return", budget_tokens=300, cursor=cursor.rpartition(".")[0])
    cursor = fact(searched.find("budget return", budget_tokens=900), "next")["arguments"]["cursor"]
    assert "-" in cursor
    cut = searched.find("budget return", budget_tokens=900, cursor=cursor.rpartition("-")[0])
    assert "changed" in [warning["code"] for warning in fact(cut, "warnings")]
    names = searched.find("budget return", output="files", budget_tokens=100)
    cursor = fact(names, "next")["arguments"]["cursor"]
    with pytest.raises(BadCursor):
        searched.find("budget return", output="files", cursor=cursor.rpartition(".module_")[0])
