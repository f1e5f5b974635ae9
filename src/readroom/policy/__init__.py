"""What may be read, and the guard that applies it."""
