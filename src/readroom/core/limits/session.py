"""Limits of conversations, budgets, servers and the ledger."""

from __future__ import annotations

SESSIONS = 1000
"""Conversations that a workspace remembers; the longest unused one is forgotten. As HTTP_SESSIONS."""

SESSION_FILES = 4096
"""File states that a conversation is known to have seen: half a megabyte."""

SEEN_FILES = 64
"""Files whose changes a conversation hears of, those shown last: each costs every call a stat, of some 2
microseconds."""

BUDGET_ACCOUNTS = 10_000
"""Conversations and tokens whose use is remembered, each counted separately; the longest unused one is
forgotten."""

LEDGER_WAIT_S = 10.0
"""Longest wait for other writers of a ledger, and for a lost database. A row takes 0.1 ms."""

LEDGER_PAGE_ROWS = 1000
"""Rows read from a ledger at once: half a megabyte."""

LEDGER_GROUP_ROWS = 500
"""Most rows in one transaction: others wait some 10 ms for it. SQLite takes 32,766 values at once."""

LEDGER_PROBLEMS = 20
"""Problems that a verification names; a broken ledger can have one in every row."""

LEDGER_TEXT_CHARS = 4096
"""How much of one text among a call's arguments is kept: any path, and all but the longest commands and
patterns."""

LEDGER_NAME_CHARS = 200
"""How much is kept of the name of a client, its conversation or a tool."""

STORE_BYTES = 64 * 1024 * 1024
"""All files of a store in memory that a contract works in; an agent's notes and a small project fit."""

STATE_WAIT_S = 3.0
"""Longest wait for other writers of the shared state, and for its lost database. A change takes 0.1 ms."""

WORKERS_MOST = 64
"""Processes of one server; more than processors only wait for each other."""

WORKER_LEAST_S, WORKER_MOST_S = 0.1, 10.0
"""Before a worker that has died is started again: doubled for each that died before it had lived for the
longer of the two, so that one that cannot start costs little."""
