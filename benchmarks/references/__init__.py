"""References by name beside language servers: every match found, and the kinds of matches.

`servers` talks to a language server, `truth` asks it where symbols are used, `trees` asks parsers of other
projects for the syntax of these places, and `score` compares.  `names` compares all names by syntax alone.
"""
