"""How well texts answer a question: functions of words, names and texts.

Knows: words and their stems, parts of texts, what a name says about a file, and how all of that adds up
    to a score and its explanation.
Does not know: files and policies: who calls it has read the texts, and decides which may be seen.
May be touched: weights, which all stand in `score` with what each was worth, only with a run of
    `benchmarks/find`.
"""
