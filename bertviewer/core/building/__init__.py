"""Models from their configurations, on the meta device or with random weights."""
