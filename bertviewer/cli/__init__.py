"""The command line: its arguments, and the commands that need no window."""
