"""Every default number of reading tables of data, once, with its reason."""

from __future__ import annotations

CELL_CHARS = 120
"""A cell among others is cut there: a sentence; one column alone shows its cells whole."""

WIDE_CELL_CHARS = 1_000_000
"""A cell of a column that is read alone. What is longer is counted."""

PADDED_CHARS = 32
"""Columns are padded up to here, so that one long cell does not move all others."""

BLOB_BYTES = 16
"""Bytes of binary cells that are shown in hexadecimal: enough for the magic number of what it is."""

TABLE_COLUMNS = 30
"""Columns that are shown unless they are picked; at 20 characters each a row has 600."""

PICKED_COLUMNS = 500
"""Columns that are picked at once; SQLite takes 2,000 expressions, and each is asked for in three."""

SCHEMA_COLUMNS = 2_000
"""Columns of one table that an outline lists; behind them the rest is counted."""

SCHEMA_TABLES = 2_000
"""Tables of a database that can be read; applications have a few hundred at most."""

BRIEF_ROWS = 5
"""Rows of each table of several that are shown together: what the values look like."""

HEADING_COLUMNS = 8
"""Columns named beside a table in the list of tables."""

SQL_CHARS = 600
"""The text of a view or trigger in an outline."""

COUNT_CPU_S = 0.5
"""Processor time for counting the rows of tables, all together when a database is opened: some ten million
rows. What is not counted by then is said to be not counted."""

SQLITE_COPIED_BYTES = 48 * 1024 * 1024
"""A database up to this size is read as one and opened from memory, where no name, lock or journal matters;
twice that is used. Larger ones are opened as a file, by the descriptor that was checked."""

SQLITE_VALUE_BYTES = 32 * 1024 * 1024
"""A value or statement that SQLite may build; what is larger is an error of its row."""

SAMPLE_ROWS = 1_000
"""Rows of a text table whose values decide about types and, in JSON lines, about columns."""

COUNTED_BYTES = 16 * 1024 * 1024
"""A text table up to this size is counted when it is opened: 0.2 s."""

FIELD_CHARS = 4 * 1024 * 1024
"""A field of CSV or a line of JSON lines that is parsed; a longer one ends the table, and is said."""

AVRO_BEGINNING_BYTES = 4 * 1024 * 1024
"""Where the beginning of an Avro file, with its schema, has to end; usual ones have some kilobytes."""

AVRO_BLOCK_BYTES = 24 * 1024 * 1024
"""A block of an Avro file that is expanded to decode its rows; writers make blocks of 16 kB to some MB."""

AVRO_BLOCKS = 200_000
"""Blocks of an Avro file that are walked to count its rows: 1 s."""
