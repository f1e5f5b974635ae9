"""readroom's tools for frameworks of agents; each module needs the extra of its name."""
