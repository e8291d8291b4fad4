"""The front door for scripts; the commands are readings of it."""

DRAWING_CHILD = "--draw-pictures"
"""The hidden first argument of the process that draws for a script."""
