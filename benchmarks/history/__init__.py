"""What readroom says of a repository beside what git says: commits, files as they were, changes and blame.

`repositories` compares on clones of real ones, `million` measures one with 1,000,000 commits; `asking` and
`patches` have what they need.
"""
