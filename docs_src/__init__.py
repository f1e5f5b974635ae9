"""The code that the documentation shows. Every file is run by tests/docs."""
