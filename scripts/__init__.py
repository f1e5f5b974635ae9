"""Programs of the project itself: not installed with it."""
