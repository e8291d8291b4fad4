"""What was found out about a model before, on disk: it is there at once the next time."""
