"""Audits of the session records that agents leave on disk: lines read, their cost, and failures.

Knows: the formats of records, the normal form that all of them are turned into, findings, reports, exports.
Does not know: terminals and commands. Nothing in a record is run, followed or trusted.
May be touched: a new client is a module in `records`, a new kind of finding a class in `findings`.
"""
