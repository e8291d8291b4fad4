"""The window's frame: the bar above, and the panes around the middle."""
