"""Runs that are kept as a file, opened again, and sent: exact, and read with suspicion."""
