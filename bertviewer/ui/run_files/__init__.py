"""Runs as files: saved, opened again, and marked as what they are."""
