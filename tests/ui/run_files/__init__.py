"""Runs as files in the window."""
