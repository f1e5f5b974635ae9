"""`python -m benchmarks` runs the suites."""

from benchmarks.run import main

main()
