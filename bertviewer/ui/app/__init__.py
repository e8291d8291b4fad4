"""Start and end of the window process."""
