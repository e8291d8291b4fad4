"""The map of a model: which parts open into which, the strip of blocks, and what colours mean."""
