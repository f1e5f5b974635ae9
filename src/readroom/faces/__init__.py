"""Ways in: transport only."""
