"""Functions of text and its bytes: encodings, lines, selections, hidden characters, tokens."""
