"""How numbers and words are written."""
