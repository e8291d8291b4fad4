"""The front door for scripts; the commands are readings of it."""
