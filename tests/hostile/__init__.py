"""Documents that are made to do harm, written by scripts."""
