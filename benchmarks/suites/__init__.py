"""One module a suite, each with `run(record)`."""
