"""Score how well texts answer a question. Pure functions of words, names and texts.

Knows: words and their stems, parts of texts, what a name says about a file, and how all of that adds up
    to a score and its explanation.
Does not know: files and policies: its callers read the texts and decide which may be seen.
May be touched: freely, but for the weights, which are all in `score` with what each was worth: those only
    with a run of `benchmarks/find`.
"""
