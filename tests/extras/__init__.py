"""Without an extra: one sentence with the command that installs it, everything else as ever."""
