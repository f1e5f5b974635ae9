"""The first agent in each framework, as its how-to shows it."""
