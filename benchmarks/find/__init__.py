"""How good ranked reading is: the right files for a question, and tokens until the needed lines are seen.

Neither the questions nor the repositories are part of this project: both commands take folders with
them, and write a run with the result of every single question beside the summary.
"""
