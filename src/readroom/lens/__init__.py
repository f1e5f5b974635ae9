"""Where an agent's context went, what it saw, and what it cost, from the records that agents leave on disk.

Knows: the forms of records, the one normal form they come down to, findings, reports, exports, and how many
    records are worked on side by side.
Does not know: terminals and commands. Nothing of a record is run, followed or trusted.
May be touched: `audit` for one record, `work` for many; a client is a module in `records`, a kind of finding
    a class in `findings`.
"""
