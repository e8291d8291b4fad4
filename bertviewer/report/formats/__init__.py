"""The readings of one report: HTML, LaTeX, Markdown and JSON, and how each is written to disk."""
