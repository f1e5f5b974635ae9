"""Limits of reading documents, archives and tables."""

from __future__ import annotations

ARCHIVE_DIRECTORY_BYTES = 2 * 1024 * 1024
"""Directory of an archive, which zipfile reads at once and turns into objects of some 700 bytes per member;
one of 20,000 members with names of 50 characters."""

ARCHIVE_MEMBERS = 20_000
"""Members of a document. A presentation of 1,000 slides has about 5,000, the largest books a few thousand."""

ARCHIVE_MEMBER_BYTES = 16 * 1024 * 1024
"""A member that is held whole. The text of a Word document of 1,000 pages is 10 to 15 MB of XML, which
takes six times as much memory when it is parsed (measured)."""

ARCHIVE_TOTAL_BYTES = 4 * 1024 * 1024 * 1024
"""All members together, whether they are read or not: four films in a presentation."""

ARCHIVE_RATIO = 300
"""A member may become so many times larger. XML of sheets reaches 50, deflate at most 1,032."""

ARCHIVE_RATIO_BYTES = 4 * 1024 * 1024
"""Smaller members may have any ratio: empty sheets and plain pictures do, and are harmless."""

XML_TAGS = 1_000_000
"""Tags of a part. Each element takes some 150 bytes of memory and 5 us; 1,000 pages have about 400,000."""

XML_DECLARATION_BYTES = 200
"""Where the XML declaration of a part is looked for; it is its first thing."""

TABLE_LINE_CHARS = 160
"""A row of a table whose cells have several lines stays one line up to here: `Name / (unit) | a / b`."""

TABLE_ROW_CHARS = 1_000
"""A row whose cells have a line each stays one line up to here: half of what is shown of a line at once."""

LINK_CHARS = 120
"""Longest target shown beside the words of a link; longer ones are tracking and signatures."""

CONTENTS_HEADINGS = 2_000
"""Entries of a table of contents; the longest standards have about as many."""

HEADING_CHARS = 200
"""Characters of a heading as an entry of the table of contents; its line shows all of it."""

OLE_SCAN_BYTES = 8 * 1024 * 1024
"""At the start and at the end of an OLE file; its directory is searched for the names that say what it is.
Most programs write it near one of them."""

DOCUMENT_CHILD_BYTES = 200 * 1024 * 1024
"""Memory that the process may allocate which reads a document; with its libraries it stays below 256 MB."""

DOCUMENT_CHILD_CPU_S = 60
"""Processor time of that process in all, where a call may not use more: an end for one that is not waited for
any more.  Of one that has used half of it, the next call starts a new one."""

DOCUMENT_PATIENCE = 10
"""How many times as long as its processor time a document may take by the clock: on a machine that is busy
with nine times as much other work it is still read, and no call waits for ever."""

DOCUMENT_CHILD_FILES = 64
"""Its descriptors; libraries open a few modules and fonts late."""

DOCUMENT_ANSWER_BYTES = 32 * 1024 * 1024
"""One answer of it without pictures: DOCUMENT_PART_CHARS, escaped."""

DOCUMENT_PART_CHARS = 4 * 1024 * 1024
"""Text of one part; a page of a book has 3,000 characters. The rest of a longer one is counted, not shown."""

DOCUMENT_PICTURES_BYTES = 32 * 1024 * 1024
"""Pictures of one part, as the document holds them."""

DOCUMENT_TITLES = 5_000
"""Titles of parts that are passed on; later parts are known by their number."""

DOCUMENT_TITLE_CHARS = 200
"""Longest title or heading."""

DOCUMENT_NOTE_CHARS = 800
"""Longest note about a part: one sentence that counts every kind of thing that is not shown."""

DOCUMENT_CONTENTS = 5_000
"""Headings of a table of contents that are passed on. The longest manuals have some 3,000."""

DOCUMENT_SHOWN_HEADINGS = 40
"""Headings shown above the first part, about 500 tokens; a call for all is named."""

DOCUMENT_CONTENTS_SHARE = 4
"""They take at most this part of a reply."""

DOCUMENT_IMAGES = 4
"""Pages and pictures shown as images in one reply, some 1,600 tokens each: as much as its text."""

DOCUMENT_ROWS = 2_000
"""Rows of a sheet that are asked for at once; a reply holds fewer unless they are nearly empty."""

DOCUMENT_CACHE_BYTES = 16 * 1024 * 1024
"""Extracted parts that a workspace keeps: a book of 3,000 pages."""

DOCUMENT_HASHES = 1_000
"""Documents whose hash and titles it keeps."""

DOCUMENT_FLAT = 16
"""Documents read as one text for which a workspace keeps how many lines each part has: 4 bytes for each."""

DOCUMENT_PROCESSES = 3
"""Documents that are extracted at once, each in a process of up to DOCUMENT_CHILD_BYTES."""

DOCUMENT_KEPT = 2
"""Processes that wait with a document open for its next page, which then takes a tenth of the time."""

DOCUMENT_IDLE_S = 20.0
"""How long: a model reads a page and asks for the next one within it."""

PDF_ANNOTATIONS = 5_000
"""Fields, notes and links of a page that are looked at; the longest forms have some hundreds."""

PDF_CHOICES = 5_000
"""Choices of a drop-down that are looked at for the chosen ones: all cities of a country."""

PDF_VALUE_BYTES = 2 * 1024 * 1024
"""The value of a field or a note in UTF-16."""

SHEET_CELLS = 250_000
"""Cells of a part of a sheet, empty ones within included: each takes some 200 bytes on its way, of which
libraries keep most at once. 2,000 rows of 125 columns; longer sheets are read in areas."""

SHEET_NOTED = 5
"""Merged ranges that are named in a note."""

SHEET_BYTES = 1024 * 1024 * 1024
"""The XML of one sheet, which goes by in pieces. A million rows of 20 columns have 900 MB."""

ROW_BYTES = 2 * 1024 * 1024
"""The XML of one row: 16,384 columns of 100 bytes each."""

OLD_WORKBOOK_BYTES = 16 * 1024 * 1024
"""A workbook of Excel before 2007, which a library reads whole."""

SHARED_STRINGS = 2_000_000
"""Texts of a workbook that cells can refer to; a sheet has at most a million rows."""

STRING_BYTES = 1024 * 1024
"""The XML of one text. A cell takes 32,767 characters; formatting may be around each of them."""

FORMULA_ELEMENTS = 20_000
"""Elements of a formula that say more than their letters; of a larger one the rest is shown as letters."""

DRAWING_WORDS = 200
"""Titles, series and points of a chart or diagram that are shown where it stands."""

SLIDES = 3_000
"""Slides of a presentation; the title of each is read when it is opened, in 2 ms."""

SPINE_ITEMS = 5_000
"""Files of a book in its reading order; a dictionary has some hundreds."""

HTML_BYTES = 12 * 1024 * 1024
"""A page that is read as one; 30 MB/s are read. The longest standards on one page have 12 MB."""

META_BYTES = 2048
"""Where a page says its encoding. The standard has 1,024; some put long comments before."""

RTF_BYTES = 48 * 1024 * 1024
"""A document in RTF, which is read whole. Most of a large one is pictures, two letters for each byte."""

RTF_GROUPS = 10_000
"""Groups in groups of RTF; programs reach some tens."""

OLE_STREAM_BYTES = 32 * 1024 * 1024
"""A stream of a compound file that is held whole; the text of 1,000 pages has a few megabytes."""

OLE_ENTRIES = 20_000
"""Entries of its directory, each an object; a message with 500 attachments has 15,000."""

OLD_TEXT_CHARS = 16 * 1024 * 1024
"""Characters of a Word document from before 2007, notes and headers included: some 8,000 pages."""

BINARY_RECORD_BYTES = 4 * 1024 * 1024
"""A record of a binary workbook; a text has at most 32,767 characters."""

MAIL_BYTES = 24 * 1024 * 1024
"""A message that is read whole, or a mailbox all of whose messages are: the library takes five times as much
memory. Servers take messages of up to 25 MB."""

MAILBOX_BYTES = 2 * 1024 * 1024 * 1024
"""A mailbox in which messages are looked for, which takes 1 s for a gigabyte."""

MAILBOX_MESSAGES = 100_000
"""Messages of a mailbox."""

MAIL_HEAD_BYTES = 16 * 1024
"""Where the subject of a message in a large mailbox is looked for."""

MAIL_PARTS = 5_000
"""Messages and attachments of a document, as many as titles are passed on."""

CARRIED_NAME_CHARS = 4_000
"""A longer path of a file that a document carries is denied: rules are not applied to it."""

MAIL_DEPTH = 5
"""Messages in messages that are opened; deeper ones are attachments."""

MAIL_RTF_BYTES = 8 * 1024 * 1024
"""The RTF of a message of Outlook, unpacked, which takes 0.3 s for each megabyte."""

MAIL_HEADER_CHARS = 64 * 1024
"""A header whose encoded words are decoded; a message to 1,000 people has some 40,000."""

ATTACHED_PARTS = 200
"""Pages, sheets or slides of an attached document that its part shows."""

BINARY_MERGED = 100_000
"""Merged ranges of a binary workbook's sheet that are counted."""

REPEATED_ROWS = 200
"""Times that a row or cell of a table in an OpenDocument text is written which says to be repeated."""

REPEATED_SPACES = 1_000
"""Spaces that one element of OpenDocument may stand for; it says how many."""

OLE_PROPERTY_BYTES = 1024 * 1024
"""A stream of properties of an old document; most have some hundred bytes."""

# -----------------------------------------------------------------------------
# Every default number of reading tables of data, once, with its reason.
# -----------------------------------------------------------------------------

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

# -----------------------------------------------------------------------------
# Every default number of reading archives in place, once, with its reason.
# -----------------------------------------------------------------------------

CONTAINER_MEMBERS = 120_000
"""Members of an archive that are looked at; each takes some 400 bytes. The source of Linux has 90,000."""

CONTAINER_FOLDERS = 120_000
"""Folders above them, each of some 400 bytes as well: a member may lie in CONTAINER_NAME_DEPTH of its own.
The source of Linux has 6,000.
"""

CONTAINER_DIRECTORY_BYTES = 32 * 1024 * 1024
"""The directory of a ZIP file, which goes by in one piece: CONTAINER_MEMBERS with names of 200 bytes."""

CONTAINER_NAME_BYTES = 2_048
"""Longest name of a member. The path of its archive stands before it, and both have to fit a path."""

CONTAINER_NAME_DEPTH = 100
"""Folders in the name of a member; the deepest trees seen in the wild have about as many."""

CONTAINER_HEADER_BYTES = 1024 * 1024
"""An extended header of a tar file (long names, times, owners), which is held whole. Usual ones have 1 kB."""

CONTAINER_TARGET_BYTES = 4_096
"""Where a link in a ZIP file leads to, which is its content: the longest path there is."""

CONTAINER_NESTING = 3
"""Archives inside of archives that are opened: a distribution in an image in a backup."""

CONTAINER_HOPS = 16
"""Links followed for one name inside an archive, as loops have no end."""

CONTAINERS_OPEN = 8
"""Archives whose lists of members a workspace keeps; each of at most CONTAINER_MEMBERS."""

CONTAINER_MEMORY_BYTES = 1024 * 1024
"""Members up to this size are held in memory while they are read; larger ones in a file without a name."""

CONTAINER_KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Expanded members that a session keeps for the next page of them, the least recently used leaving first."""

CONTAINER_KEPT = 32
"""Their number; each holds a descriptor."""

CONTAINER_SKIPPED_BYTES = 256 * 1024 * 1024
"""A member of a 7z file may lie behind so much of others, unpacked to reach it: about 3 s of LZMA."""

CONTAINER_RATIO = 1_100
"""A member may become so many times larger from CONTAINER_RATIO_BYTES on: deflate ends at 1,032."""

CONTAINER_RATIO_BYTES = 16 * 1024 * 1024
"""Smaller members may have any ratio: nothing but zeros is a file, too."""
