"""The user guide in a window."""
