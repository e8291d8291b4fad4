"""The report's dialog: what can be chosen of it, its pages as they will be, and its file."""
